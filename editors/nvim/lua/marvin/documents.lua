--- The files that are open, as the server sees them: which it is told of, and what it asks of them.
local M = {}

local saved_first = {} ---@type string[] names of what was saved for what is asked next

--- Whether the server is to see the text of a buffer: a file that has a name.
---@param buf integer
---@return boolean
function M.is_document(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and name ~= ''
    and not name:match('^%a[%w+.-]*://')
end

--- An edit of the server's is an undo step of its own, apart from what was typed before and after it.
---@param err table|nil
---@param params table of `workspace/applyEdit`
---@param ctx table
---@return table
function M.apply_edit(err, params, ctx)
  local buffers = {}
  for _, change in ipairs(params.edit.documentChanges or {}) do
    if change.textDocument then
      buffers[#buffers + 1] = vim.uri_to_bufnr(change.textDocument.uri)
    end
  end
  local function break_undo()
    for _, buf in ipairs(buffers) do
      if vim.api.nvim_buf_is_loaded(buf) then
        vim.bo[buf].undolevels = vim.bo[buf].undolevels
      end
    end
  end
  -- Neovim would print it; the transcript has it.
  params.label = nil
  break_undo()
  local result = vim.lsp.handlers['workspace/applyEdit'](err, params, ctx)
  break_undo()
  return result
end

--- Write the buffers that the server names, before a command reads their files.
---@param params {uris: string[]}
---@return {saved: string[]}
function M.save(_, params)
  local saved = {}
  for _, uri in ipairs(params.uris) do
    local buf = vim.uri_to_bufnr(uri)
    if vim.api.nvim_buf_is_loaded(buf) then
      if vim.bo[buf].modified then
        pcall(vim.api.nvim_buf_call, buf, function()
          vim.cmd('silent lockmarks keepalt write')
        end)
        saved_first[#saved_first + 1] = not vim.bo[buf].modified and vim.fs.basename(vim.uri_to_fname(uri)) or nil
      end
      if not vim.bo[buf].modified then
        saved[#saved + 1] = uri
      end
    end
  end
  return { saved = saved }
end

--- What was saved since this was asked last.
---@return string[] names
function M.saved_first()
  local names = saved_first
  saved_first = {}
  return names
end

return M
