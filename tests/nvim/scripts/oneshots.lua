local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_buf()
local window = vim.api.nvim_get_current_win()

-- The command completes its words, and says what it does not know.
result.words = vim.fn.getcompletion('Marvin re', 'cmdline')
result.modes = vim.fn.getcompletion('Marvin mode ', 'cmdline')
vim.cmd('Marvin frobnicate')
result.unknown = drive.told('there is no :Marvin frobnicate')
result.mappings = vim.fn.maparg('<Plug>(marvin-explain)', 'x')

-- Explain opens the panel beside the code; the person stays in the code.
vim.cmd('4,9Marvin explain')
drive.see('`total` adds up **prices**.')
drive.idle()
result.stayed = vim.api.nvim_get_current_win() == window
result.title = require('marvin.chat').current().session.title

-- A question about the code.
drive.answer('Why minus?')
vim.cmd('Marvin ask')
drive.wait('the answer', function()
  return require('marvin.chat').current().session.title == 'Ask about basket.py'
end)
drive.see('`total` adds up **prices**.')
drive.idle()
vim.cmd('Marvin close')

-- Fix gets what the editor's other servers say, and edits the buffer.
vim.diagnostic.set(vim.api.nvim_create_namespace('checker'), code, {
  { lnum = 7, col = 8, message = 'the sum is negative', source = 'checker' },
})
vim.cmd('Marvin fix')
drive.wait('the fix', function()
  return drive.told('Fix basket.py: It adds now. (:Marvin review)')
end)
result.fixed = vim.api.nvim_buf_get_lines(code, 7, 8, false)
vim.cmd('silent write')

-- What is added goes along with the next prompt, as it is then.
vim.cmd('4,5Marvin add selection')
vim.cmd('Marvin add diagnostics')
vim.cmd('Marvin add README.md')
result.context = require('marvin.context').labels()
drive.choose(function()
  return 3
end)
vim.cmd('Marvin context')
drive.wait('two items', function()
  return #require('marvin.context').labels() == 2
end)
vim.api.nvim_buf_set_lines(code, 0, 0, false, { '# above' })
vim.cmd('Marvin new')
drive.say('Look')
drive.see('`total` adds up **prices**.')
drive.idle()
result.used = require('marvin.context').labels()
vim.cmd('Marvin close')

-- A commit message, above what is in the commit buffer.
vim.cmd.edit(vim.fs.joinpath(vim.fn.getcwd(), '.git/COMMIT_EDITMSG'))
vim.bo.filetype = 'gitcommit'
vim.api.nvim_buf_set_lines(0, 0, -1, false, { '', '# Please enter the commit message' })
vim.cmd('Marvin commit')
drive.wait('the message', function()
  return drive.told('Commit message: written')
end)
result.commit = vim.api.nvim_buf_get_lines(0, 0, -1, false)

-- Modes and models.
vim.cmd.edit(arg[1])
vim.cmd('Marvin new')
drive.say('Look')
drive.see('`total` adds up **prices**.')
drive.idle()
vim.cmd('Marvin mode plan')
drive.wait('the mode', function()
  return require('marvin.chat').current().session.mode == 'plan'
end)
drive.choose(function(titles)
  for index, title in ipairs(titles) do
    if vim.startswith(title, 'review:') then
      return index
    end
  end
end)
vim.cmd('Marvin mode')
drive.wait('the mode', function()
  return require('marvin.chat').current().session.mode == 'review'
end)
vim.cmd('Marvin usage')
drive.wait('the usage', function()
  return drive.told('cost unknown')
end)
vim.cmd('Marvin status')
drive.wait('the status', function()
  return drive.told('openai-compat, test-model, login ok, ready')
end)

-- Options that are wrong are named, and the default holds.
require('marvin').setup({ cmd = { vim.env.MARVIN, 'lsp' }, pannel = {}, panel = { position = 'top', width = 0 } })
result.options = drive.said[#drive.said]
result.kept = require('marvin.config').options.panel.position

vim.cmd('checkhealth marvin')
local health = drive.text(0)
result.health = health:find('the server runs, version', 1, true) ~= nil and not health:find('ERROR', 1, true)

vim.cmd('Marvin help')
result.help = { vim.bo.buftype, vim.fn.expand('%:t') }

-- Nothing leaks into the global table.
result.globals = rawget(_G, 'marvin') == nil
drive.finish(result)
