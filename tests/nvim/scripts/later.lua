-- What an editor has left is taken up by the next one: a hunk, a prompt that was never sent, a turn to be undone.
local drive = require('drive')
local chat = require('marvin.chat')
local result = {}

local function choosing(wanted)
  drive.choose(function(titles)
    for index, title in ipairs(titles) do
      if vim.startswith(title, wanted) then
        return index
      end
    end
    drive.fail('a choice: ' .. wanted)
  end)
end
local function told(text)
  drive.wait('the word: ' .. text, function()
    return drive.told(text)
  end)
end

vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_buf()
if arg[2] == 'first' then
  vim.cmd('Marvin')
  drive.say('Fix it')
  drive.review(1)
  drive.idle()
  drive.say('Thanks')
  drive.see('You are welcome.')
  drive.idle()
  vim.cmd('Marvin close')
  vim.cmd('silent write')
  vim.cmd('Marvin')
  drive.say('Stall')
  drive.see('word0')
  drive.say('And then?')
  drive.see('Waits for its turn: And then?')
  drive.finish({ done = true })
end

choosing('Fix it')
vim.cmd('Marvin sessions')
drive.see('You are welcome.')
drive.review(1)
told('a prompt was never sent')
result.status = require('marvin').statusline():match('1 draft')
choosing('Back into the input')
vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, { 'Typed before' })
vim.cmd('Marvin drafts')
drive.wait('the draft', function()
  return drive.text(drive.input()) == 'And then?\nTyped before'
end)
drive.wait('no draft', function()
  return #chat.current().drafts == 0
end)

-- The latest turn changed nothing: the one that did is found.
choosing('Yes')
vim.cmd('Marvin undo')
told('undo: shop/basket.py')
drive.wait('the undo', function()
  return drive.text(code):find('result -= price', 1, true)
end)
vim.cmd('Marvin redo')
told('redo: shop/basket.py')
drive.wait('the redo', function()
  return drive.text(code):find('result += price', 1, true)
end)

drive.see('Marvin was told: the person brought back your changes')

-- One is put away and found by its words alone; another is deleted.
vim.cmd('Marvin new')
drive.say('Thanks a lot')
drive.see('You are welcome.')
drive.idle()
local picks = { ['Conversation'] = 'Archive one', ['Archive one'] = 'Fix it' }
vim.ui.select = function(items, options, done)
  for _, item in ipairs(items) do
    if vim.startswith(options.format_item(item), picks[options.prompt]) then
      return done(item)
    end
  end
end
vim.cmd('Marvin sessions')
told('archived: :Marvin sessions WORDS finds it')
picks = { ['Conversation'] = 'Delete one', ['Delete one'] = 'Thanks a lot' }
local pick = vim.ui.select
vim.ui.select = function(items, options, done)
  if items[1] == 'Keep it' then
    return done('Delete it')
  end
  pick(items, options, done)
end
vim.cmd('Marvin sessions')
told('the conversation was deleted')
result.empty = drive.text(drive.chat())
vim.cmd('Marvin sessions')
told('no conversation was found')
choosing('Fix it')
vim.cmd('Marvin sessions welcome')
drive.see('Fix it')
vim.cmd('Marvin! archive')
told('it is in the list again')
vim.cmd('Marvin jobs')
told('nothing runs beside the turns')
drive.finish(result)
