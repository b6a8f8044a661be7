--- Taking back what a turn changed in files, and putting it there again.
local chat = require('marvin.chat')
local client = require('marvin.client')
local disk = require('marvin.disk')
local say = require('marvin.say')

local M = {}

-- There is nothing of this turn that could be taken back.
local FAILED = -32803

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

---@param result table
local function tell_notes(result)
  for _, note in ipairs(result.notes) do
    say.note(note)
  end
  for _, failed in ipairs(result.failed) do
    say.warn(('%s was left alone: %s'):format(failed.path, failed.reason))
  end
end

---@param conversation marvin.Conversation
---@param what 'undo'|'redo'
---@param turn string
local function change(conversation, what, turn)
  client.request(
    'turn/' .. what,
    { sessionId = conversation.session.id, turnId = turn },
    say.or_error(function(result)
      tell_notes(result)
      say.note(('%s: %s'):format(what, #result.applied > 0 and table.concat(result.applied, ', ') or 'no file'))
      local from, to = 'finished', 'undone'
      if what == 'redo' then
        from, to = to, from
      end
      conversation[from] = vim.tbl_filter(function(each)
        return each ~= turn
      end, conversation[from])
      table.insert(conversation[to], turn)
      disk.follow()
    end)
  )
end

--- Find the first of some turns in which there is something to be done.
---@param conversation marvin.Conversation
---@param what 'undo'|'redo'
---@param turns string[]
---@param done fun(turn: string, result: table) with the answer for a dry run
local function find(conversation, what, turns, done)
  local function try(index)
    local turn = turns[index]
    if not turn then
      say.note(('there is nothing to %s'):format(what))
      return
    end
    local params = { sessionId = conversation.session.id, turnId = turn, dryRun = true }
    client.request('turn/' .. what, params, function(err, result)
      if err and err.code ~= FAILED then
        say.error(err.message)
      elseif err or result.preview == '' and #result.failed == 0 then
        try(index + 1)
      else
        done(turn, result)
      end
    end)
  end
  try(1)
end

--- Show what a turn changed, and change it when the person says so.
---@param conversation marvin.Conversation
---@param what 'undo'|'redo'
---@param turns string[] to look at, one after the other
local function offer(conversation, what, turns)
  find(conversation, what, turns, function(turn, result)
    tell_notes(result)
    if result.preview == '' then
      return
    end
    local win = show(result.preview)
    vim.cmd.redraw()
    vim.ui.select({ 'Yes', 'No' }, { prompt = ('%s this?'):format(what:gsub('^%l', string.upper)) }, function(choice)
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_close(win, true)
      end
      if choice == 'Yes' then
        change(conversation, what, turn)
      end
    end)
  end)
end

---@param turns string[]
---@return string[] the latest first
local function latest_first(turns)
  return vim.iter(turns):rev():totable()
end

--- Show what the latest turn that changed something did to files, and take it back when the person says so.
function M.undo()
  local conversation = chat.begun()
  if conversation then
    offer(conversation, 'undo', latest_first(conversation.finished))
  end
end

--- Put back what was taken back last, here or in an earlier run.
function M.redo()
  local conversation = chat.begun()
  if conversation then
    offer(conversation, 'redo', vim.list_extend(latest_first(conversation.undone), latest_first(conversation.finished)))
  end
end

return M
