--- The buffers of files that were changed on disk, by a command or a tool: those without unsaved changes follow.
local conversations = require('marvin.conversations')
local documents = require('marvin.documents')

local M = {}

-- The kinds of tools that change files.
local CHANGES = { edit = true, execute = true }
local running = {} ---@type table<string, boolean> the calls of such tools

local group = vim.api.nvim_create_augroup('marvin.disk', {})

---@param buf integer
local function follow(buf)
  -- Whatever 'autoread' says, nobody is asked: there is nothing in the buffer that could be lost.
  local choosing = vim.api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buf,
    callback = function()
      vim.v.fcs_choice = vim.v.fcs_reason == 'changed' and 'reload' or ''
    end,
  })
  pcall(vim.cmd, ('silent checktime %d'):format(buf))
  pcall(vim.api.nvim_del_autocmd, choosing)
end

--- Show the files as they are on disk now, wherever nothing unsaved is shown.
function M.follow()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if documents.is_document(buf) and not vim.bo[buf].modified then
      follow(buf)
    end
  end
end

conversations.listen(function(_, event)
  if event.type == 'tool.started' then
    running[event.toolCallId] = CHANGES[event.kind]
  elseif event.type == 'tool.finished' and running[event.toolCallId] then
    running[event.toolCallId] = nil
    M.follow()
  elseif event.type == 'turn.finished' then
    M.follow()
  end
end)

return M
