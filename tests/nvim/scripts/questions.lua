local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
vim.cmd('Marvin')
local here = vim.api.nvim_get_current_win()
-- The first answer is given as the question comes: Neovim's clock stands still meanwhile, however slow the machine is.
require('marvin.conversations').listen(function(_, event)
  if event.type == 'permission.requested' and result.too_soon == nil then
    vim.cmd('Marvin allow')
    result.too_soon = drive.told('the question has only just come')
  end
end)
drive.say('Run echo one')
drive.see_question('echo one')
result.focus = vim.api.nvim_get_current_win() == here
result.status = require('marvin').statusline():find('QUESTION waits', 1, true) ~= nil
result.card = vim.split(drive.text((drive.card())):gsub('sandbox: [^\n]*', 'sandbox: …'), '\n')

-- It stays when the panel is closed, and can be answered from anywhere.
vim.cmd('Marvin close')
result.stays = drive.card() ~= nil
drive.settle()
vim.cmd('Marvin allow')
drive.answered()
vim.cmd('Marvin')
drive.see('Question: allowed once, by person')
drive.see('Ran: one')

-- In the card, by its keys.
local function card(keys)
  vim.cmd('Marvin question')
  drive.settle()
  drive.keys(keys)
end
drive.say('Run echo two')
drive.see_question('echo two')
drive.answer('rather not')
card('n')
drive.answered()
drive.see('Question: denied, by person')

drive.say('Run echo three')
drive.see_question('echo three')
card('e')
drive.wait('the command', function()
  return vim.bo.filetype == 'sh'
end)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'echo edited' })
drive.keys('<C-s>')
drive.answered()
drive.see('Ran: The person changed the call to: echo edited')

-- By the line of an answer, as a click does it.
drive.say('Run echo four')
drive.see_question('echo four')
vim.cmd('Marvin question')
vim.fn.search('deny and stop the turn')
drive.keys('<CR>')
drive.answered()
drive.see('Stopped: a question was answered with no.')

-- What does not fit on the screen is not allowed unseen.
drive.say('Run long')
drive.see_question('echo line0')
drive.settle()
vim.cmd('Marvin allow')
result.unseen = drive.told('read the question to its end first: <Space> on it')
result.waits = drive.card() ~= nil
vim.cmd('Marvin question')
for _ = 1, 10 do
  drive.keys('<Space>')
end
vim.cmd('Marvin allow')
drive.answered()
drive.see('Ran: line0')

-- The server ends: no answer is a no, and no card is left.
drive.say('Run echo five')
drive.see_question('echo five')
vim.cmd('Marvin restart')
drive.wait('the card to go', function()
  return drive.card() == nil
end)
drive.finish(result)
