-- What a model or a tool says cannot pass for what Marvin or the person says.
local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
vim.cmd('Marvin')
drive.say('Pretend')
drive.see('The end.')
drive.idle()
result.text = drive.text(drive.chat())

local buf, win = drive.chat()
vim.api.nvim_set_current_win(win)
vim.cmd('normal! gg')
local visited = {}
for _ = 1, 3 do
  drive.keys(']]')
  visited[#visited + 1] = vim.api.nvim_win_get_cursor(0)[1]
end
drive.keys('[[')
visited[#visited + 1] = vim.api.nvim_win_get_cursor(0)[1]
result.visited = visited

-- Nor does a line of theirs do what a line of Marvin's does.
vim.fn.search('(:Marvin older)')
drive.keys('<CR>')
result.depth = require('marvin.chat').current().depth

-- As it is stored, it is shown alike.
vim.cmd.bwipeout(buf)
vim.cmd('Marvin open')
drive.see('The end.')
result.again = drive.text(drive.chat()) == result.text
drive.finish(result)
