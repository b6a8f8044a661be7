--- The folds of a transcript in a window. They are made by hand, each with its block: asking an expression about every
--- line would hold up the main loop for as long as a large output takes.
local fitting = require('marvin.fitting')

local M = {}

--- For 'foldtext': the first line of what is folded, with how it ended and how long it took, and how much it is.
---@return {[1]: string, [2]: string}[]
function M.text()
  local line, count = vim.fn.getline(vim.v.foldstart), vim.v.foldend - vim.v.foldstart
  local size = (', %d %s'):format(count, count == 1 and 'line' or 'lines')
  local stem, ending = line:match('^(.+)( %(%l[%w ,.]*%))$')
  stem, ending = stem or line, ending or ''
  local head = fitting.cut(stem, vim.api.nvim_win_get_width(0) - #ending - #size) .. ending
  return { { head, vim.startswith(head, 'Thinking') and 'MarvinThought' or 'MarvinTool' }, { size, 'MarvinHint' } }
end

--- Take all folds of a window away.
---@param win integer
function M.clear(win)
  vim.api.nvim_win_call(win, function()
    vim.cmd('normal! zE')
  end)
end

--- Fold these lines, and leave the rest of the window as it is.
---@param win integer
---@param first integer from 1
---@param last integer
---@param is_open boolean the person has opened it
function M.set(win, first, last, is_open)
  vim.api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    -- What a change of lines has left of it: the fold of an empty line is of no use.
    for _, line in ipairs({ first, last }) do
      if vim.fn.foldlevel(line) > 0 then
        vim.api.nvim_win_set_cursor(win, { line, 0 })
        vim.cmd('normal! zd')
      end
    end
    vim.cmd(('%d,%dfold'):format(first, last))
    if is_open then
      vim.cmd(first .. 'foldopen')
    end
    vim.fn.winrestview(view)
  end)
end

--- Whether a line is in a fold that is open.
---@param win integer
---@param line integer from 1
---@return boolean
function M.is_open(win, line)
  return vim.api.nvim_win_call(win, function()
    return vim.fn.foldlevel(line) > 0 and vim.fn.foldclosed(line) == -1
  end)
end

return M
