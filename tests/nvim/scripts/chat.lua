local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
vim.cmd('Marvin')
result.in_input = vim.bo.filetype
drive.say('What is this?')
drive.see('wörld! 🌍')
drive.idle()
local buf, win = drive.chat()
result.text = drive.text(buf)
result.input = drive.text(drive.input())
result.folded = vim.api.nvim_win_call(win, function()
  local line = vim.fn.search('^Thinking', 'n')
  return { vim.fn.foldclosed(line) ~= -1, (vim.fn.foldtextresult(line):gsub('%(%d+ s%)', '')) }
end)
result.at_end = vim.api.nvim_win_get_cursor(win)[1] == vim.api.nvim_buf_line_count(buf)
result.is_locked = not vim.bo[buf].modifiable
drive.wait('usage', function()
  return require('marvin').statusline():find('context')
end)
result.status = require('marvin').statusline()

-- What was said is what the input goes back to; what was being written is not lost.
vim.api.nvim_set_current_win(vim.fn.win_findbuf(drive.input())[1])
vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, { 'half a prompt' })
drive.keys('<M-p>')
result.earlier = drive.text(drive.input())
drive.keys('<M-n>')
result.later = drive.text(drive.input())

-- The panel may go, its buffer too; both come back.
vim.cmd('Marvin close')
result.closed = drive.chat() == nil and vim.api.nvim_buf_get_name(0) == vim.fn.resolve(arg[1])
vim.cmd('Marvin')
result.reopened = drive.text(drive.chat()) == result.text
result.kept = drive.text(drive.input())
vim.cmd('Marvin close')
vim.cmd.bwipeout(buf)
vim.cmd('Marvin')
drive.see('wörld! 🌍')
result.again = drive.text(drive.chat()) == result.text

-- Completion, as the omnifunc of the input.
vim.api.nvim_set_current_win(vim.fn.win_findbuf(drive.input())[1])
vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, { 'look at @bask' })
vim.api.nvim_win_set_cursor(0, { 1, 13 })
vim.cmd('startinsert!')
local completion = require('marvin.completion')
vim.api.nvim_win_set_cursor(0, { 1, 13 })
completion.prefetch()
drive.wait('completion', function()
  return completion.omnifunc(1) == 8
end)
result.completed = vim.tbl_map(function(item)
  return item.word
end, completion.omnifunc(0, ''))
vim.cmd.stopinsert()

-- Another conversation, and back to the first by the words in it.
vim.cmd('Marvin rename A greeting')
drive.wait('the title', function()
  return require('marvin.chat').current().session.title == 'A greeting'
end)
vim.cmd('Marvin new')
result.empty = drive.text(drive.chat())
drive.choose(function()
  return 1
end)
vim.cmd('Marvin sessions wörld')
drive.wait('the conversation', function()
  local current = require('marvin.chat').current()
  return current.session and current.session.title == 'A greeting'
end)
drive.see('wörld! 🌍')
result.offered = vim.tbl_map(function(title)
  return (title:gsub(' %(.*', ''))
end, drive.offered)
vim.cmd('Marvin fork')
drive.wait('the fork', function()
  return require('marvin.chat').current().session.parentId ~= nil
end)
drive.see('wörld! 🌍')
result.fork = drive.text(drive.chat()) == result.text
drive.finish(result)
