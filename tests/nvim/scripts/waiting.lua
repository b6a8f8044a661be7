-- Prompts that wait, are steered, and come back.
local drive = require('drive')
local chat, context, conversations = require('marvin.chat'), require('marvin.context'), require('marvin.conversations')
local result = {}

vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_buf()
vim.cmd('Marvin')

-- Before the server runs: one conversation, and both prompts in their order.
drive.say('Stall')
context.add_buffer(code)
drive.say('And two')
drive.see('word0')
drive.see('Waits for its turn: And two (:Marvin queue)')
result.conversations = #conversations.all()
result.order = drive.text(drive.chat()):match('## You\n\n(%w+)')

-- After a reload it waits still, and comes back with what went along with it.
vim.cmd.bwipeout((drive.chat()))
vim.cmd('Marvin open')
drive.see('Waits for its turn: And two (:Marvin queue)')
drive.choose(function(titles)
  for index, title in ipairs(titles) do
    if title == 'Back into the input' then
      return index
    end
  end
end)
vim.cmd('Marvin queue')
drive.wait('the prompt', function()
  return drive.text(drive.input()) == 'And two'
end)
result.added = context.labels()
drive.wait('the empty queue', function()
  return next(chat.current().queued) == nil
end)

-- What is steered is shown; a turn that is cancelled leaves it as a draft.
local function steer(text)
  vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, { text })
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(drive.input())[1])
  drive.keys('<M-s>')
end
steer('Look left')
drive.see('Given to the running turn: Look left')
result.labels = context.labels()
vim.cmd('Marvin cancel')
drive.see('Was never sent: Look left (:Marvin drafts)')
drive.see('Cancelled.')
result.no_longer = drive.text(drive.chat()):find('Given to the running turn', 1, true) == nil
drive.wait('the word about it', function()
  return drive.told('a prompt was never sent (:Marvin drafts)')
end)
result.status = require('marvin').statusline():match('1 draft')
vim.cmd('Marvin drafts')
drive.wait('the draft', function()
  return drive.text(drive.input()) == 'Look left'
end)
drive.wait('no draft', function()
  return #chat.current().drafts == 0
end)
result.again = context.labels()
drive.say('Look left')
drive.see('I see the basket')
drive.idle()

-- A turn that takes what it was handed says so.
drive.say('Run')
drive.read()
steer('Go on')
drive.see('Given to the running turn: Go on')
vim.cmd('Marvin allow')
drive.see('Taken by the turn.')
drive.idle()

-- A fork is told from what it was forked from.
vim.cmd('Marvin fork')
drive.wait('the fork', function()
  return chat.current().session.parentId ~= nil
end)
drive.choose(function() end)
vim.cmd('Marvin sessions')
drive.wait('the list', function()
  return drive.offered and vim.list_contains(drive.offered, 'Archive one')
end)
result.forks = #vim.tbl_filter(function(title)
  return title:find(', fork', 1, true) ~= nil
end, drive.offered)
drive.finish(result)
