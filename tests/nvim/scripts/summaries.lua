-- A conversation that is summarised by a command, taken back, and loaded anew.
local drive = require('drive')
local chat = require('marvin.chat')
local result = {}

local function shown()
  return drive.text((drive.chat()))
end
local function say(text, expected)
  local before = #shown()
  drive.say(text)
  drive.wait(expected, function()
    return shown():find(expected, before, true) and not chat.current().turn
  end)
  return shown():sub(before + 1):gsub('^\n+', '')
end

vim.cmd('Marvin')
for number = 1, 6 do
  say(('Joke %d. %s'):format(number, ('A long story. '):rep(50)), 'A joke.')
end
result.context = say('/context', 'for test-model')
result.asked = say('/compact --ask', '; /compact carries it out')
say('/compact', '/compact undo takes it back')
say('/compact undo', 'are in view again')
result.told = shown()

local buf, win = drive.chat()
local head = vim.iter(ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false))):find(function(_, line)
  return vim.startswith(line, 'Summarised: ')
end)
vim.api.nvim_set_current_win(win)
result.folded = vim.fn.foldtextresult(head)

drive.say('/compact --now')
drive.wait('the text back in the input', function()
  return drive.text(drive.input()) == '/compact --now'
end)
result.problem = drive.text(drive.input())

chat.current():load(function()
  result.loaded = shown()
end)
drive.wait('the session loaded', function()
  return result.loaded
end)
drive.finish(result)
