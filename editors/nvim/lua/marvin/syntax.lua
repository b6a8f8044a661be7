--- The colours of a transcript. Treesitter knows Markdown best and colours code in its own language, but parses the end
--- of the buffer again and again while an answer streams in: until it is there, the regular expressions do.
local M = {}

-- Older ones parse without letting go of the main loop.
local PARSES_ASIDE = vim.fn.has('nvim-0.11') == 1

--- For a transcript in which a turn runs.
---@param buf integer
function M.plain(buf)
  vim.treesitter.stop(buf)
  vim.bo[buf].syntax = 'markdown'
end

--- For a transcript at rest; where there is no parser it stays as it is.
---@param buf integer
function M.rich(buf)
  if PARSES_ASIDE and vim.treesitter.language.add('markdown') then
    vim.treesitter.start(buf, 'markdown')
  end
end

return M
