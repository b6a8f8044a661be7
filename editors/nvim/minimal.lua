-- The least that is needed: try Marvin with `nvim -u "$(marvin path nvim)/minimal.lua"`. The project's own tests start
-- Neovim with it too; $MARVIN names another server for them.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
vim.opt.runtimepath:prepend(here)
vim.o.statusline = "%f %m %{v:lua.require'marvin'.statusline()}%<"
vim.g.mapleader = ' '
vim.keymap.set('n', '<leader>m', '<Plug>(marvin-toggle)')
vim.keymap.set({ 'n', 'x' }, '<leader>e', '<Plug>(marvin-explain)')
vim.keymap.set('n', '<leader>n', '<Plug>(marvin-next)')
vim.keymap.set('n', '<leader>p', '<Plug>(marvin-previous)')
require('marvin').setup({ cmd = { vim.env.MARVIN or 'marvin', 'lsp' } })
