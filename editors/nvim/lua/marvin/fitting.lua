--- Texts that are to be shown in so much room and no more.
local M = {}

--- As much of a text as fits, with an ellipsis where some is left out.
---@param text string
---@param width integer columns
---@return string
function M.cut(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  local count = math.max(0, width - 1)
  while count > 0 and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, count)) >= width do
    count = count - 1
  end
  return vim.fn.strcharpart(text, 0, count) .. '…'
end

return M
