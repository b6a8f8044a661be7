-- Whatever a person's own configuration says, a question is seen whole before it is allowed; and what was changed of a
-- command is run by nothing but the key for it.
local drive = require('drive')
local result = {}

local function editing()
  return vim.api.nvim_buf_get_name(0) == 'marvin://command'
end

vim.o.foldmethod, vim.o.foldlevel, vim.o.shiftwidth, vim.o.conceallevel, vim.o.scrolloff = 'indent', 0, 4, 2, 999
vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_win()
vim.cmd('Marvin')
drive.say('Run lines')
drive.read('echo last')
local _, win = drive.card()
local function is_hidden()
  return vim.api.nvim_win_call(win, function()
    return vim.fn.foldclosed(3) ~= -1 or vim.wo.conceallevel ~= 0
  end)
end
result.folded = is_hidden()
vim.api.nvim_win_call(win, function()
  vim.cmd('setlocal foldmethod=indent foldlevel=0 foldenable conceallevel=2')
end)
vim.api.nvim_exec_autocmds('CursorMoved', {})
result.folded_later = is_hidden()
vim.cmd('Marvin deny')
drive.answered()

-- A line that is longer than the screen: neither its beginning nor its end is all of it.
drive.say('Run wide')
drive.read('x0')
vim.cmd('Marvin allow')
result.told = drive.told('read the question to its end first: <Space> on it')
vim.cmd('Marvin question')
drive.keys('G$')
vim.cmd.redraw()
vim.api.nvim_exec_autocmds('CursorMoved', {})
vim.cmd('Marvin allow')
result.waits = drive.card() ~= nil and #require('marvin.question').open() == 1
drive.keys('gg')
vim.cmd.redraw()
result.pages = 0
while not require('marvin.card').was_seen() and result.pages < 50 do
  drive.keys('<Space>')
  result.pages = result.pages + 1
end
result.pages = result.pages > 0 and result.pages < 10
vim.cmd('Marvin allow')
drive.answered()

-- Half a command: whatever saves files does not run it.
drive.say('Run echo one')
drive.read('echo one')
vim.cmd('Marvin question')
drive.keys('e')
drive.wait('the command', editing)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'echo one && echo evil >' })
result.uncovered = drive.card() == nil
vim.api.nvim_set_current_win(code)
vim.cmd('silent wall')
vim.o.autowriteall = true
vim.cmd('Marvin allow')
result.not_elsewhere = editing()
drive.keys('q')
drive.wait('the card', drive.card)
result.waits_still = #require('marvin.question').open() == 1
drive.keys('e')
drive.wait('the command again', editing)
result.kept = vim.api.nvim_get_current_line()
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'echo edited' })
drive.keys('<C-s>')
drive.answered()
drive.see('Ran: The person changed the call to: echo edited')

-- It was answered elsewhere meanwhile: nothing is run, and what was written stays.
drive.say('Run echo two')
drive.read('echo two')
vim.cmd('Marvin question')
drive.keys('e')
drive.wait('the command', editing)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'echo later' })
vim.cmd('Marvin deny')
drive.idle()
drive.keys('<C-s>')
result.settled = drive.told('that question was already settled; nothing was run') and vim.api.nvim_get_current_line()
drive.finish(result)
