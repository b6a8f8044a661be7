local drive = require('drive')
local result = {}

local function marks(buf)
  local space = vim.api.nvim_get_namespaces()['marvin.hunks']
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, { details = true })) do
    local virtual = {}
    for _, line in ipairs(mark[4].virt_lines or {}) do
      virtual[#virtual + 1] = line[1][1]
    end
    found[#found + 1] = { mark[2] + 1, mark[4].sign_text or '', table.concat(virtual, '\n') }
  end
  return found
end

vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_buf()
vim.api.nvim_buf_set_lines(code, 0, 1, false, { '"""What is bought."""' })
local typed = drive.text(code)
vim.cmd('Marvin')
drive.say('Fix it')
drive.review(2)
drive.idle()
result.unsaved = vim.bo[code].modified
result.marks = marks(code)
result.changed = drive.text(code)

-- One undo takes all of it back, and leaves what was typed.
vim.cmd('Marvin close')
vim.cmd('silent undo')
result.undone = drive.text(code) == typed
vim.cmd('silent redo')
result.redone = drive.text(code) == result.changed

-- The whole file in Neovim's own diff mode.
vim.cmd('Marvin diff')
local sides = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  sides[#sides + 1] = vim.wo[win].diff and drive.text(vim.api.nvim_win_get_buf(win)) == typed
end
table.sort(sides, function(one, other)
  return not one and other
end)
result.diff = sides
vim.cmd.tabclose()

-- Hunk by hunk: one is kept, the other taken back, with a reason.
vim.api.nvim_win_set_cursor(0, { 1, 0 })
vim.cmd('Marvin next')
result.first = vim.api.nvim_win_get_cursor(0)[1]
vim.cmd('Marvin next')
result.second = vim.api.nvim_win_get_cursor(0)[1]
vim.cmd('Marvin previous')
vim.cmd('Marvin keep')
drive.review(1)
vim.cmd('Marvin next')
drive.answer('no docstrings')
vim.cmd('Marvin reject')
drive.review(0)
result.left = drive.text(code)
result.cleared = marks(code)
vim.cmd('Marvin')
drive.see('Reviewed: 0 kept, 1 rejected: no docstrings')
vim.cmd('Marvin close')
vim.cmd('silent write')

-- An inline edit is shown before it is made.
vim.api.nvim_win_set_cursor(0, { 10, 0 })
vim.cmd('10Marvin edit Multiply instead')
drive.review(1)
result.proposed = marks(code)
result.waits = drive.text(code) == result.left
vim.cmd('Marvin next')
vim.cmd('Marvin keep')
drive.review(0)
drive.wait('the edit', function()
  return drive.text(code):find('result *= price', 1, true)
end)
drive.wait('what was said', function()
  return drive.told('Edit basket.py:10: It multiplies.')
end)
drive.idle()

-- The turn is taken back, and made again.
drive.choose(function()
  return 1
end)
vim.cmd('silent write')
vim.cmd('Marvin undo')
drive.wait('the undo', function()
  return drive.text(code):find('result -= price', 1, true)
end)
drive.wait('the word about it', function()
  return drive.told('undo: shop/basket.py')
end)
vim.cmd('Marvin redo')
drive.wait('the redo', function()
  return drive.text(code):find('result *= price', 1, true)
end)
drive.finish(result)
