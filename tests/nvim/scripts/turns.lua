local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
vim.cmd('Marvin')

-- A prompt that is sent while a turn runs waits; one that steers goes to the running turn.
drive.say('Run')
drive.read()
drive.say('And then?')
drive.see('Waits for its turn: And then?')
result.queued = require('marvin').statusline():find('1 queued', 1, true) ~= nil
vim.api.nvim_buf_set_lines(drive.input(), 0, -1, false, { 'Look left' })
drive.keys('<M-s>')
drive.see('Given to the running turn: Look left')
vim.cmd('Marvin allow')
drive.see('Then this.')
drive.see('I look.')
drive.idle()
local waited = drive.text(drive.chat())
result.was_queued = waited:find('Its turn has come.', 1, true) ~= nil and not waited:find('queue', 1, true)

-- Cancel keeps what has arrived.
drive.say('Stall')
drive.see('word0')
drive.wait('the turn', function()
  return require('marvin.chat').current().turn
end)
vim.cmd('Marvin cancel')
drive.see('Cancelled.')
drive.idle()

-- The server dies in the midst of a turn: it is said, the server comes back, and so does the conversation.
drive.say('Stall again')
drive.see('## You\n\nStall again\n\n## Marvin\n\nword0')
local function prompts()
  return vim.iter(drive.text(drive.chat()):gmatch('## You\n\n([^\n]+)')):totable()
end
local _, client = require('marvin.client').state()
local first = client.id
for _, child in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
  vim.uv.kill(child, 'sigkill')
end
drive.wait('another server', function()
  local state, another = require('marvin.client').state()
  return state == 'ready' and another.id ~= first
end)
result.said = drive.told('the server has ended (signal 9); it is started again')
drive.wait('the conversation', function()
  local text = drive.text(drive.chat())
  return text:find('## You\n\nStall again', 1, true) and not text:find('the server has ended', 1, true)
end)
result.kept = prompts()
drive.say('Are you there?')
drive.see('Here I am.')
drive.idle()
result.attached = #vim.lsp.get_clients({ name = 'marvin', bufnr = vim.fn.bufnr(arg[1]) })

-- What cannot be sent comes back into the input.
vim.cmd('Marvin stop')
drive.wait('the end', function()
  return #vim.lsp.get_clients() == 0
end)
require('marvin').setup({ cmd = { '/nowhere/marvin', 'lsp' } })
drive.say('Not lost')
drive.wait('the prompt', function()
  return drive.text(drive.input()) == 'Not lost'
end)
result.advice = drive.told('/nowhere/marvin was not found: :checkhealth marvin')
drive.finish(result)
