-- Says and answers what the transcript of this name has; the server only plays it.
local drive = require('drive')
local name = arg[1]
local result = {}
local pending = require('marvin.pending')
local SAYS = {
  chat = 'What does shop.py do?',
  question = 'Run the tests.',
  denied = 'Run the tests.',
  patch = 'Mean of nothing is 0.',
  review = 'Mean of nothing is 0.',
  cancelled = 'Tell me everything.',
  failed = 'Hello?',
}

vim.cmd.edit('shop.py')
local code = vim.api.nvim_get_current_buf()
vim.cmd("silent 2put =['', '', 'def mean(prices):', '    return total(prices) / len(prices)']")
vim.cmd('Marvin')
local conversation = require('marvin.chat').current()
drive.say(SAYS[name])

if name == 'question' then
  drive.read()
  local is_loaded = false
  conversation:load(function()
    is_loaded = true
  end)
  drive.wait('the session loaded', function()
    return is_loaded
  end)
  drive.read()
  vim.cmd('Marvin allow')
elseif name == 'denied' then
  drive.read()
  require('marvin.question').answer('denyAndStop')
elseif name == 'review' then
  drive.wait('the patch', function()
    return #pending.open() == 1
  end)
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(code)[1])
  vim.cmd('Marvin next')
  vim.cmd('Marvin reject raise an error instead')
elseif name == 'cancelled' then
  drive.see('word0')
  vim.cmd('Marvin cancel')
end
drive.idle()
if name == 'patch' then
  result.hunks = #pending.open()
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(code)[1])
  vim.cmd('Marvin keep all')
  drive.wait('the review', function()
    return #pending.open() == 0
  end)
end
result.chat = drive.text(drive.chat())
result.code = drive.text(code)
result.hunks_left = #pending.open()
result.card = drive.card() ~= nil
drive.finish(result)
