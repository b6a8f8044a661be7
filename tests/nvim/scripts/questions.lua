local drive = require('drive')
local result = {}

local function asked(command)
  drive.wait('the question ' .. command, function()
    local buf = drive.card()
    return buf and drive.text(buf):find(command, 1, true)
  end)
end
local function gone()
  drive.wait('the end of the question', function()
    return drive.card() == nil
  end)
  drive.idle()
end
-- A key is not taken for an answer before the question could be read.
local function read()
  vim.wait(450, function()
    return false
  end)
end

vim.cmd.edit(arg[1])
vim.cmd('Marvin')
local here = vim.api.nvim_get_current_win()
drive.say('Run echo one')
asked('echo one')
result.focus = vim.api.nvim_get_current_win() == here
result.status = require('marvin').statusline():find('QUESTION waits', 1, true) ~= nil
vim.cmd('Marvin allow')
result.too_soon = drive.told('the question has only just come')
result.card = vim.split(drive.text((drive.card())):gsub('sandbox: [^\n]*', 'sandbox: …'), '\n')

-- It stays when the panel is closed, and can be answered from anywhere.
vim.cmd('Marvin close')
result.stays = drive.card() ~= nil
read()
vim.cmd('Marvin allow')
gone()
vim.cmd('Marvin')
drive.see('Question: allowed once, by person')
drive.see('Ran: one')

-- In the card, by its keys.
local function card(keys)
  vim.cmd('Marvin question')
  read()
  drive.keys(keys)
end
drive.say('Run echo two')
asked('echo two')
drive.answer('rather not')
card('n')
gone()
drive.see('Question: denied, by person')

drive.say('Run echo three')
asked('echo three')
card('e')
drive.wait('the command', function()
  return vim.bo.filetype == 'sh'
end)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'echo edited' })
drive.keys('<C-s>')
gone()
drive.see('Ran: The person changed the call to: echo edited')

-- By the line of an answer, as a click does it.
drive.say('Run echo four')
asked('echo four')
vim.cmd('Marvin question')
vim.fn.search('deny and stop the turn')
drive.keys('<CR>')
gone()
drive.see('Stopped: a question was answered with no.')

-- What does not fit on the screen is not allowed unseen.
drive.say('Run long')
asked('echo line0')
read()
vim.cmd('Marvin allow')
result.unseen = drive.told('read the question to its end first: <Space> on it')
result.waits = drive.card() ~= nil
vim.cmd('Marvin question')
for _ = 1, 10 do
  drive.keys('<Space>')
end
vim.cmd('Marvin allow')
gone()
drive.see('Ran: line0')

-- The server ends: no answer is a no, and no card is left.
drive.say('Run echo five')
asked('echo five')
vim.cmd('Marvin restart')
drive.wait('the card to go', function()
  return drive.card() == nil
end)
drive.finish(result)
