-- What is there before `require('marvin')`: the command and the <Plug> mappings. Nothing is started.
if vim.g.loaded_marvin then
  return
end
vim.g.loaded_marvin = 1

vim.api.nvim_create_user_command('Marvin', function(options)
  require('marvin.command').run(options)
end, {
  nargs = '*',
  bang = true,
  range = true,
  desc = 'Talk to Marvin',
  complete = function(...)
    return require('marvin.command').complete(...)
  end,
})

local function plug(name, words, modes)
  for _, mode in ipairs(modes or { 'n' }) do
    -- A command that begins with `:` in visual mode gets the selection as its range.
    vim.keymap.set(mode, '<Plug>(marvin-' .. name .. ')', ':Marvin ' .. words .. '<CR>', {
      silent = true,
      desc = 'Marvin: ' .. words,
    })
  end
end

local both = { 'n', 'x' }
plug('toggle', 'toggle')
plug('new', 'new')
plug('sessions', 'sessions')
plug('cancel', 'cancel')
plug('ask', 'ask', both)
plug('explain', 'explain', both)
plug('fix', 'fix', both)
plug('test', 'test', both)
plug('document', 'document', both)
plug('refactor', 'refactor', both)
plug('edit', 'edit', both)
plug('commit', 'commit')
plug('add', 'add selection', { 'x' })
plug('add-buffer', 'add buffer')
plug('question', 'question')
plug('next', 'next')
plug('previous', 'previous')
plug('keep', 'keep')
plug('reject', 'reject')
plug('diff', 'diff')
