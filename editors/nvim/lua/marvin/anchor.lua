--- Lines of a buffer that are followed while the text around them changes.
local M = {}

local space = vim.api.nvim_create_namespace('marvin.anchor')

--- Follow lines from now on.
---@param buf integer
---@param line1 integer from 1
---@param line2 integer
---@return fun(): integer|nil, integer|nil where they are at that moment; nil when they or the buffer are gone
function M.lines(buf, line1, line2)
  local last = vim.api.nvim_buf_get_lines(buf, line2 - 1, line2, false)[1] or ''
  local mark = vim.api.nvim_buf_set_extmark(buf, space, line1 - 1, 0, {
    end_row = line2 - 1,
    end_col = #last,
    right_gravity = false,
    end_right_gravity = true,
    invalidate = true,
  })
  return function()
    local found = vim.api.nvim_buf_is_loaded(buf)
        and vim.api.nvim_buf_get_extmark_by_id(buf, space, mark, { details = true })
      or {}
    if not found[1] or found[3].invalid then
      return nil
    end
    return found[1] + 1, math.max(found[1], found[3].end_row) + 1
  end
end

return M
