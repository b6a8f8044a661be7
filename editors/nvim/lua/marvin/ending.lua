--- The end of a text, in a window that follows it.
local M = {}

--- Show the end of the text, with as much above it as there is room for.
---@param win integer
function M.show(win)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
  local rows = vim.api.nvim_win_text_height(win, { start_row = last - 1 }).all
  local hidden = rows - vim.fn.winheight(win)
  -- Of a paragraph that is higher than the window the end is shown, which 'smoothscroll' alone allows; it must be off
  -- elsewhere, since `zb` may hide the last line with it.
  if vim.wo[win].smoothscroll ~= (hidden > 0) then
    vim.wo[win][0].smoothscroll = hidden > 0
  end
  vim.api.nvim_win_call(win, function()
    vim.cmd('normal! G$zb')
    if hidden > 0 then
      vim.fn.winrestview({ topline = last, skipcol = hidden * vim.api.nvim_win_get_width(win) })
    end
  end)
end

return M
