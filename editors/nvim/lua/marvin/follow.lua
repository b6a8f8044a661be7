--- From a line of the transcript to what it tells of.
local transcripts = require('marvin.transcript')

local M = {}

-- Only what asks nothing and shows something.
local SHOWS = { question = true, review = true, drafts = true, older = true, queue = true }

--- Open the file that the word under the cursor names, with its line, or do what the line says that can be done.
function M.line()
  local line = vim.api.nvim_get_current_line()
  local command = line:match(':Marvin (%l+)%)?$')
  local transcript = transcripts.of(vim.api.nvim_get_current_buf())
  if SHOWS[command] and transcript and transcript:is_head(vim.api.nvim_win_get_cursor(0)[1] - 1) then
    vim.cmd.Marvin(command)
    return
  end
  if vim.fn.foldclosed('.') ~= -1 then
    vim.cmd.normal({ 'zo', bang = true })
    return
  end
  local conversation = require('marvin.chat').current()
  local word = vim.fn.expand('<cWORD>'):gsub('^[`\'"(%[]+', ''):gsub('[`\'")%],.;]+$', '')
  local path, number = word:match('^(.-):(%d+)')
  path = path or word
  local full = conversation and vim.fs.joinpath(conversation.cwd, path) or path
  if path == '' or not vim.uv.fs_stat(full) then
    return
  end
  vim.cmd.wincmd('p')
  if vim.bo.buftype ~= '' then
    vim.cmd('aboveleft split')
  end
  vim.cmd.edit(vim.fn.fnameescape(full))
  if number then
    pcall(vim.api.nvim_win_set_cursor, 0, { tonumber(number), 0 })
  end
end

return M
