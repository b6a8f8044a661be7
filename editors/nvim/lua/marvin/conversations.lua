--- The conversations that this editor has to do with, by their sessions.
local client = require('marvin.client')
local conversation = require('marvin.conversation')

local M = {}

local by_id = {} ---@type table<string, marvin.Conversation>

M.listen = conversation.listen
M.new = conversation.new

--- The conversation of a session that the server told of.
---@param session marvin.Session
---@return marvin.Conversation
function M.of(session)
  local found = by_id[session.id] or conversation.new(session.cwd)
  found.session = session
  by_id[session.id] = found
  return found
end

--- The session is no more.
---@param session string
---@return marvin.Conversation|nil
function M.forget(session)
  local found = by_id[session]
  by_id[session] = nil
  if found then
    found.session = nil
  end
  return found
end

---@return marvin.Conversation[]
function M.all()
  return vim.tbl_values(by_id)
end

-- The first to be told: a conversation that has begun is found by its session from then on.
conversation.listen(function(found, event)
  if event.type == 'session' and found.session then
    by_id[found.session.id] = found
  end
end)

client.hear('turn/events', function(params)
  local found = by_id[params.sessionId]
  if not found then
    -- Begun by a code action: its questions and patches concern the person all the same.
    found = M.of({ id = params.sessionId, title = '', cwd = vim.fn.getcwd(), mode = '', model = '', busy = true })
    found.seq = params.seq - 1
  end
  found:take(params)
end)

client.hear('session/changed', function(params)
  local found = by_id[params.session.id]
  if found then
    found:change(params.session)
  end
end)

client.hear('session/deleted', function(params)
  local found = M.forget(params.sessionId)
  if found then
    found:lose('this conversation was deleted elsewhere; what is sent now begins another')
  end
end)

client.watch(function(what)
  for id, found in pairs(by_id) do
    if what ~= 'ready' then
      found:lose('the server has ended')
    else
      found:load(function(err)
        if err then
          M.forget(id)
          found:lose(err.message)
        end
      end)
    end
  end
end)

return M
