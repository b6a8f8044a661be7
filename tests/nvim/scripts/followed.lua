-- Files and lines that change while Marvin works: buffers follow their files, hunks and questions follow their lines.
local drive = require('drive')
local pending = require('marvin.pending')
local result = {}

local function allow()
  local text = drive.read()
  vim.cmd('Marvin allow')
  drive.wait('the end of the question', function()
    return drive.card() == nil
  end)
  return text
end

vim.o.autoread = false
vim.cmd.edit(arg[1])
local code, file = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
local function line(number)
  return vim.api.nvim_buf_get_lines(code, number - 1, number, false)[1]
end
vim.cmd('Marvin')

-- A command changes a file that is open; the next change is made in its buffer.
drive.say('Run and change')
result.saved_before = allow():find('Saved', 1, true) ~= nil
drive.review(1)
drive.idle()
result.followed = { line(1), line(8), vim.bo[code].modified, vim.fn.readfile(arg[1])[8] }
vim.api.nvim_set_current_win(file)
vim.cmd('Marvin keep all')
drive.review(0)

-- What is not saved is saved before a command is asked about, and the question says so.
drive.say('Change and run')
result.saved = allow():match('Saved:[^\n]*')
drive.idle()
drive.review(1)

-- Lines that were taken away: undone they are no hunk, done again they are one.
vim.api.nvim_set_current_win(file)
vim.cmd('Marvin keep!')
drive.review(0)
vim.cmd('Marvin close')
vim.cmd('silent write')
vim.cmd('Marvin')
drive.say('Delete')
drive.review(1)
drive.idle()
vim.cmd('Marvin close')
vim.api.nvim_set_current_win(file)
local function state()
  vim.cmd('doautocmd TextChanged')
  local one = pending.open()[1]
  return { one.found, #vim.api.nvim_buf_get_extmarks(code, vim.api.nvim_get_namespaces()['marvin.hunks'], 0, -1, {}) }
end
local after = drive.text(code)
result.deleted = state()
vim.cmd('silent undo')
local before = drive.text(code)
result.undone = state()
vim.cmd('silent redo')
result.redone = state()
vim.cmd('Marvin diff')
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local text = drive.text(vim.api.nvim_win_get_buf(win))
  result[text == after and 'after' or text == before and 'before' or 'neither'] = true
end
vim.cmd.tabclose()
vim.cmd('Marvin keep all')
drive.review(0)
vim.cmd('silent write')

-- A reason that begins with a word for all is a reason.
vim.cmd('Marvin')
drive.say('Both')
drive.review(2)
drive.idle()
vim.cmd('Marvin close')
vim.api.nvim_set_current_win(file)
vim.cmd('Marvin next')
vim.cmd('Marvin reject all names must stay')
drive.review(1)
vim.cmd('Marvin reject! all of it')
drive.review(0)
vim.cmd('silent write')

-- Lines are followed from the command on, and a buffer that is gone is not asked about.
vim.cmd('Marvin stop')
drive.wait('the end', function()
  return #vim.lsp.get_clients() == 0
end)
vim.cmd('4,5Marvin explain')
vim.api.nvim_buf_set_lines(code, 0, 0, false, { '# one', '# two' })
drive.see('It adds.')
result.asked = drive.text(drive.chat()):match('lines [%d-]+')
drive.idle()
vim.cmd('Marvin close')
vim.cmd('Marvin stop')
drive.wait('the end', function()
  return #vim.lsp.get_clients() == 0
end)
vim.api.nvim_set_current_win(file)
vim.cmd('4,5Marvin test')
vim.cmd('bwipeout!')
drive.wait('the word about it', function()
  return drive.told('what this was about is gone: nothing was asked')
end)
drive.finish(result)
