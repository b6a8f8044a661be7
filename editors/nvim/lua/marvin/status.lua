--- How it stands, in words: for the statusline, the bars of the panel and `:Marvin status`.
local client = require('marvin.client')
local conversations = require('marvin.conversations')

local M = {}

local problem ---@type string|nil what the server wants the person to do
local defaults = {} ---@type table<string, string> options of a conversation that has not begun

client.hear('status/changed', function(params)
  problem = params.kind == 'warning' and params.message or nil
  vim.cmd.redrawstatus({ bang = true })
end)

---@return string|nil what the server wants the person to do
function M.problem()
  return problem
end

--- Ask what a conversation begins with.
function M.refresh()
  client.request('config/get', {}, function(err, result)
    for _, option in ipairs(err and {} or result.options) do
      defaults[option.name] = option.value
    end
    vim.cmd.redrawstatus({ bang = true })
  end)
end

client.watch(function(what)
  if what == 'ready' then
    M.refresh()
  end
end)

---@param count integer
---@param one string
---@param many string
---@return string|nil
local function counted(count, one, many)
  return count > 0 and ('%d %s'):format(count, count == 1 and one or many) or nil
end

---@return string|nil
local function at_work()
  local state = client.state()
  local work = {}
  for _, each in ipairs(conversations.all()) do
    work[#work + 1] = each:work()
  end
  if #work > 0 then
    return #work == 1 and work[1] or ('working on %d'):format(#work)
  end
  local words = { ready = 'ready', starting = 'starting', failed = 'server failed' }
  return words[state]
end

--- What waits for the person first, then what is at work.
---@param conversation marvin.Conversation|nil that of the panel
---@return string[]
function M.state(conversation)
  local questions = #require('marvin.question').open()
  local parts = {}
  local function add(text)
    parts[#parts + 1] = text
  end
  add(questions == 1 and 'QUESTION waits' or counted(questions, '', 'QUESTIONS wait'))
  add(problem)
  add(at_work())
  add(counted(conversation and vim.tbl_count(conversation.queued) or 0, 'queued', 'queued'))
  add(counted(conversation and #conversation.drafts or 0, 'draft', 'drafts'))
  add(counted(require('marvin.jobs').running(), 'job runs', 'jobs run'))
  add(counted(#require('marvin.pending').open(), 'hunk to review', 'hunks to review'))
  return parts
end

---@param count integer
---@return string
local function short(count)
  return count < 1000 and tostring(count) or ('%dk'):format(math.floor(count / 1000 + 0.5))
end

--- A conversation's own part: model, mode, context, cost; each where it is known.
---@param conversation marvin.Conversation
---@return string[]
function M.about(conversation)
  local parts = {}
  local session, usage = conversation.session, conversation.usage
  local model, mode = defaults.model, defaults.mode
  if session and session.model ~= '' then
    model, mode = session.model, session.mode
  end
  parts[1] = model
  parts[#parts + 1] = mode
  if usage then
    local size = usage.contextSize
    parts[#parts + 1] = size and ('context %d%%'):format(math.floor(usage.contextUsed * 100 / size + 0.5))
      or ('context %s tokens'):format(short(usage.contextUsed))
    parts[#parts + 1] = usage.costUsd and ('$%.2f'):format(usage.costUsd) or nil
  end
  return parts
end

--- All of it in one line.
---@return string
function M.line()
  local conversation = require('marvin.chat').current()
  local parts = M.state(conversation)
  if conversation then
    vim.list_extend(parts, M.about(conversation))
  end
  return #parts > 0 and 'Marvin: ' .. table.concat(parts, ', ') or ''
end

conversations.listen(function(_, event)
  if not event.type:match('delta$') and event.type ~= 'tool.output' then
    vim.cmd.redrawstatus({ bang = true })
  end
end)

return M
