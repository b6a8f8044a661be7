--- Taking back what a turn changed in files, and putting it there again.
local chat = require('marvin.chat')
local client = require('marvin.client')
local say = require('marvin.say')

local M = {}

---@param text string a unified diff
---@return integer win
local function show(text)
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[buf].filetype, vim.bo[buf].modifiable = 'diff', false
  return vim.api.nvim_get_current_win()
end

---@param what 'undo'|'redo'
---@param from string[]
---@param to string[]
local function change(what, from, to)
  local conversation = assert(chat.current())
  local turn = from[#from]
  local params = { sessionId = conversation.session.id, turnId = turn }
  local function told(result)
    for _, note in ipairs(result.notes) do
      say.note(note)
    end
    for _, failed in ipairs(result.failed) do
      say.warn(('%s was left alone: %s'):format(failed.path, failed.reason))
    end
  end
  local function go()
    client.request(
      'turn/' .. what,
      params,
      say.or_error(function(result)
        told(result)
        say.note(('%s: %s'):format(what, #result.applied > 0 and table.concat(result.applied, ', ') or 'no file'))
        table.remove(from)
        to[#to + 1] = turn
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and not vim.bo[buf].modified then
            vim.cmd.checktime(buf)
          end
        end
      end)
    )
  end
  client.request(
    'turn/' .. what,
    vim.tbl_extend('force', params, { dryRun = true }),
    say.or_error(function(result)
      told(result)
      if result.preview == '' then
        say.note(('there is nothing to %s'):format(what))
        return
      end
      local win = show(result.preview)
      vim.cmd.redraw()
      vim.ui.select({ 'Yes', 'No' }, { prompt = ('%s this?'):format(what:gsub('^%l', string.upper)) }, function(choice)
        if vim.api.nvim_win_is_valid(win) then
          vim.api.nvim_win_close(win, true)
        end
        if choice == 'Yes' then
          go()
        end
      end)
    end)
  )
end

--- Show what the latest turn changed, and take it back when the person says so.
function M.undo()
  local conversation = chat.begun()
  if conversation and #conversation.finished == 0 then
    say.note('no turn has ended here since the server was started; in a terminal: marvin undo')
  elseif conversation then
    change('undo', conversation.finished, conversation.undone)
  end
end

--- Put back what was taken back last.
function M.redo()
  local conversation = chat.begun()
  if conversation and #conversation.undone == 0 then
    say.note('no turn was undone')
  elseif conversation then
    change('redo', conversation.undone, conversation.finished)
  end
end

return M
