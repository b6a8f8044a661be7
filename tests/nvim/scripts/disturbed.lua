-- Buffers are killed, windows closed, files renamed and deleted while turns run.
local drive = require('drive')
local result = {}

vim.cmd.edit(arg[1])
local code = vim.api.nvim_get_current_buf()
vim.cmd('Marvin')
drive.say('Count')
drive.see('word3')

-- The chat's buffer and windows go while words stream in; the turn goes on, and is there again.
vim.cmd.bwipeout((drive.chat()))
vim.cmd('silent only')
vim.cmd('Marvin')
drive.idle()
drive.see('word199')
result.words = select(2, drive.text(drive.chat()):gsub('word', ''))

-- A hunk of a buffer that is unloaded is found again when the file is opened again.
drive.say('Fix it')
drive.review(1)
drive.idle()
vim.cmd('Marvin close')
vim.cmd.buffer(code)
vim.cmd('silent write')
vim.cmd('silent bwipeout')
result.open = #require('marvin.pending').open()
vim.cmd('Marvin next')
result.back = { vim.fn.expand('%:t'), vim.api.nvim_win_get_cursor(0)[1] }
vim.cmd('Marvin diff')
result.sides = #vim.api.nvim_tabpage_list_wins(0)
vim.cmd.tabclose()

-- Typed over, it is not misplaced: what the person wrote stays.
vim.api.nvim_buf_set_lines(0, 7, 8, false, { '        result = typed' })
vim.cmd('doautocmd TextChanged')
vim.cmd('Marvin reject all')
drive.wait('the word about it', function()
  return drive.told('a hunk was left as it is')
end)
result.typed = vim.api.nvim_buf_get_lines(0, 7, 8, false)

-- The buffer gets another name, and the file is gone: the next prompt is answered all the same.
vim.cmd('silent saveas! ' .. vim.fn.fnameescape(arg[1] .. '.new'))
vim.uv.fs_unlink(arg[1])
vim.cmd('Marvin add buffer')
vim.cmd('Marvin')
drive.say('Look')
drive.see('I see: typed')
result.left = vim.uv.fs_stat(arg[1]) == nil
drive.idle()

-- A buffer is wiped between the request for an edit and the edit: the file is changed, and read when it is opened.
local other = vim.fs.joinpath(vim.fs.dirname(arg[1]), 'other.py')
vim.cmd('Marvin close')
vim.cmd.edit(other)
vim.cmd('Marvin')
drive.say('Wait, then change other.py')
drive.read()
vim.cmd.bwipeout(vim.fn.bufnr(other))
vim.cmd('Marvin allow')
drive.review(2)
drive.idle()
local function on_disk()
  return vim.uv.fs_stat(other) and table.concat(vim.fn.readfile(other), '\n')
end
result.wiped = { vim.fn.bufnr(other), on_disk() }

-- The file is renamed while its hunk is open: neither the old place nor the new one is written to.
vim.uv.fs_rename(other, other .. '.new')
vim.cmd('Marvin close')
vim.cmd('Marvin reject all')
drive.wait('the word about it', function()
  return #vim.tbl_filter(function(text)
    return text:find('a hunk was left as it is', 1, true)
  end, drive.said) == 3
end)
result.renamed = { on_disk() or 'gone', vim.fn.readfile(other .. '.new')[1] }

-- The input alone is left of the panel, and then the transcript alone: it opens whole again.
for _, filetype in ipairs({ 'marvin-input', 'marvin' }) do
  vim.cmd('Marvin open')
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == filetype then
      vim.api.nvim_set_current_win(win)
    end
  end
  vim.cmd.only()
  vim.cmd('Marvin open')
  result[filetype] = { drive.chat() ~= nil, #vim.fn.win_findbuf(drive.input()), vim.o.cmdheight }
end
drive.finish(result)
