-- Buffers are killed, windows closed, files renamed and deleted while turns run.
local drive = require('drive')
local result = {}

local function review(count)
  drive.wait(count .. ' hunks', function()
    return #require('marvin.review').open() == count
  end)
end

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
review(1)
drive.idle()
vim.cmd('Marvin close')
vim.cmd.buffer(code)
vim.cmd('silent write')
vim.cmd('silent bwipeout')
result.open = #require('marvin.review').open()
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
drive.finish(result)
