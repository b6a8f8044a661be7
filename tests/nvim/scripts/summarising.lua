-- A summary that the model takes long to write: what is shown meanwhile, and how it is stopped.
local drive = require('drive')
local bars = require('marvin.bars')
local chat = require('marvin.chat')
local status = require('marvin.status')
local result = {}

vim.cmd('Marvin')
for number = 1, 6 do
  drive.say(('Joke %d. %s'):format(number, ('A long story. '):rep(50)))
  drive.wait('the end of the turn', function()
    return #chat.current().finished == number
  end)
end
drive.wait('rest', function()
  return not chat.current().session.busy
end)

local function summarise()
  drive.say('/compact')
  drive.wait('the summary', function()
    return chat.current():work() == 'summarising'
  end)
end

summarise()
result.line, result.keys = status.line(), bars.input_keys()
vim.cmd('Marvin cancel')
drive.wait('the end of it', function()
  return not chat.current():work() and drive.text(drive.input()) == '/compact'
end)
result.stopped = { status.line(), bars.input_keys() }
result.told = drive.text((drive.chat()))
result.said = vim.deepcopy(drive.said)

vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, {})
summarise()
require('marvin.client').stop()
drive.wait('the end of the server', function()
  return not chat.current():work()
end)
drive.finish(result)
