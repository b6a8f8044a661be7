--- Earlier prompts, to go back to in the input.
local M = {}

local MOST = 200
local prompts = {} ---@type string[]
local at = 1
local draft = ''

--- Remember a prompt; one that was said before becomes the latest.
---@param text string
function M.add(text)
  prompts = vim.tbl_filter(function(each)
    return each ~= text
  end, prompts)
  prompts[#prompts + 1] = text
  if #prompts > MOST then
    table.remove(prompts, 1)
  end
  at = #prompts + 1
end

--- The prompt so many steps away from the one that is shown; past the latest it is what was being written.
---@param step integer below 0 for earlier ones
---@param shown string
---@return string
function M.step(step, shown)
  if at > #prompts then
    draft = shown
  end
  at = math.max(1, math.min(at + step, #prompts + 1))
  return prompts[at] or draft
end

return M
