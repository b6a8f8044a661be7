--- How it stands, in one line: for the statusline, the panel and `:Marvin status`.
local client = require('marvin.client')
local conversations = require('marvin.conversations')

local M = {}

local problem ---@type string|nil what the server wants the person to do

client.hear('status/changed', function(params)
  problem = params.kind == 'warning' and params.message or nil
  vim.cmd.redrawstatus({ bang = true })
end)

---@param count integer
---@return string
local function short(count)
  return count < 1000 and tostring(count) or ('%dk'):format(math.floor(count / 1000 + 0.5))
end

--- A conversation's own part: model, mode, context, cost.
---@param conversation marvin.Conversation
---@return string[]
local function about(conversation)
  local parts = {}
  local session, usage = conversation.session, conversation.usage
  if session and session.model ~= '' then
    parts[#parts + 1] = session.model
    parts[#parts + 1] = session.mode
  end
  if usage then
    local size = usage.contextSize
    parts[#parts + 1] = size and ('context %d%%'):format(math.floor(usage.contextUsed * 100 / size + 0.5))
      or ('context %s'):format(short(usage.contextUsed))
    parts[#parts + 1] = usage.costUsd and ('$%.2f'):format(usage.costUsd) or nil
  end
  return parts
end

--- One line: what waits for the person first.
---@param conversation marvin.Conversation|nil that of the panel
---@return string
function M.line(conversation)
  conversation = conversation or require('marvin.chat').current()
  local state = client.state()
  local parts = {}
  local questions = #require('marvin.question').open()
  local hunks = #require('marvin.review').open()
  if state == 'failed' then
    parts[#parts + 1] = 'server failed'
  end
  if questions > 0 then
    parts[#parts + 1] = questions == 1 and 'QUESTION waits' or ('%d QUESTIONS wait'):format(questions)
  end
  if problem then
    parts[#parts + 1] = problem
  end
  local waiting = conversation and vim.tbl_count(conversation.queued) or 0
  local busy = 0
  for _, each in ipairs(conversations.all()) do
    busy = busy + (each.turn and 1 or 0)
  end
  if busy > 0 then
    parts[#parts + 1] = busy == 1 and 'working' or ('working on %d'):format(busy)
  elseif state == 'ready' then
    parts[#parts + 1] = 'ready'
  elseif state == 'starting' then
    parts[#parts + 1] = 'starting'
  end
  if waiting > 0 then
    parts[#parts + 1] = ('%d queued'):format(waiting)
  end
  if hunks > 0 then
    parts[#parts + 1] = hunks == 1 and '1 hunk to review' or ('%d hunks to review'):format(hunks)
  end
  if conversation then
    vim.list_extend(parts, about(conversation))
  end
  return #parts > 0 and 'Marvin: ' .. table.concat(parts, ', ') or ''
end

conversations.listen(function(_, event)
  if not event.type:match('delta$') and event.type ~= 'tool.output' then
    vim.cmd.redrawstatus({ bang = true })
  end
end)

return M
