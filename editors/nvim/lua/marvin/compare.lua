--- A whole file beside what it was, or would be, in Neovim's own diff mode.
local hunks = require('marvin.hunks')
local pending = require('marvin.pending')
local say = require('marvin.say')

local M = {}

--- The text of a buffer on the other side of its open hunks: before them where they are made, else with them.
---@param buf integer
---@return string[]
local function other_side(buf)
  local lines = hunks.text(buf)
  local list = vim.tbl_filter(function(one)
    return one.buf == buf and one.found and hunks.rows(one) ~= nil
  end, pending.open())
  for index = #list, 1, -1 do
    local one = list[index]
    local first, last = hunks.rows(one)
    local here, there = hunks.sides(one)
    if #here == 0 then
      first = hunks.gap(one)
      last = first - 1
    end
    local result = vim.list_slice(lines, 1, first)
    vim.list_extend(result, there)
    vim.list_extend(result, lines, last + 2)
    lines = result
  end
  return lines
end

--- Show the whole file beside what it was, or would be, in Neovim's own diff mode, in a tab page.
function M.show()
  local buf = vim.api.nvim_get_current_buf()
  pending.refresh(buf)
  local one
  for _, each in ipairs(pending.open()) do
    if each.buf == buf and each.found then
      one = each
      break
    end
  end
  if not one then
    say.note('no hunk that waits for a review is in this text')
    return
  end
  local other = other_side(buf)
  local side = one.patch.is_proposed and 'proposed' or 'before'
  vim.cmd('tab split')
  vim.cmd.diffthis()
  vim.cmd('leftabove vertical new')
  local scratch = vim.api.nvim_get_current_buf()
  vim.bo[scratch].buftype, vim.bo[scratch].bufhidden, vim.bo[scratch].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(scratch, 0, -1, false, other)
  vim.bo[scratch].modifiable = false
  vim.bo[scratch].filetype = vim.bo[buf].filetype
  pcall(vim.api.nvim_buf_set_name, scratch, ('marvin://%s/%s'):format(side, one.edit.path))
  vim.cmd.diffthis()
  vim.cmd.wincmd('p')
end

return M
