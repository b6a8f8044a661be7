--- One conversation: what state it is in, and what can be said and done in it. Whoever shows it is told of its events.
local client = require('marvin.client')
local say = require('marvin.say')
local snapshot = require('marvin.snapshot')
local state = require('marvin.state')
local wording = require('marvin.wording')

local M = {}

---@class marvin.Session
---@field id string
---@field title string
---@field cwd string
---@field mode string
---@field model string
---@field updatedAt string
---@field busy boolean
---@field activity 'summarising'|nil what the server is at in it that is no turn
---@field parentId string|nil the session that it was forked from

---@class marvin.Event one of the server's (docs/events.md), or `loaded {snapshot}`, `lost`, `session`, `queued`,
--- `steered`, `waiting`
---@field type string

---@class marvin.Conversation
---@field cwd string
---@field session marvin.Session|nil nil until the first prompt
---@field seq integer the last notification that counts
---@field turn string|nil the turn that runs
---@field queued table<string, string> prompts that wait, by their turns
---@field permissions table[] open questions, the oldest first
---@field patches table[] patches with hunks that are not decided on
---@field usage table|nil the answer of `usage/get`
---@field finished string[] turns that ended, of earlier servers too, and were not undone here; the latest last
---@field undone string[] turns that were undone here, the latest last
---@field drafts table[] prompts that were never started
---@field depth integer pages that are loaded
---@field steered string[] prompts that the running turn was handed and has not taken
---@field private beginning (fun(err: table|nil, session: marvin.Session|nil))[]|nil who waits for the session
---@field private unsent table<string, string> prompts of which nobody knows whether they arrived, and their names
---@field private held table[]|nil notifications that came while it was loaded
---@field private is_ours boolean what changes now is of this process
local Conversation = {}
Conversation.__index = Conversation
Conversation.decide = state.decide

local listeners = {} ---@type fun(conversation: marvin.Conversation, event: marvin.Event)[]

--- Be told of each event of each conversation.
---@param listener fun(conversation: marvin.Conversation, event: marvin.Event)
function M.listen(listener)
  listeners[#listeners + 1] = listener
end

---@param conversation marvin.Conversation
---@param event marvin.Event
local function tell(conversation, event)
  for _, listener in ipairs(listeners) do
    local ok, problem = pcall(listener, conversation, event)
    if not ok then
      say.error(('%s: %s'):format(event.type, problem))
    end
  end
end

--- A conversation that has not begun.
---@param cwd string
---@return marvin.Conversation
function M.new(cwd)
  return setmetatable({
    cwd = cwd,
    seq = 0,
    queued = {},
    permissions = {},
    patches = {},
    finished = {},
    undone = {},
    drafts = {},
    steered = {},
    unsent = {},
    depth = 1,
    is_ours = false,
  }, Conversation)
end

--- What is shown as the name of a conversation.
---@return string
function Conversation:title()
  local title = self.session and self.session.title or ''
  return title ~= '' and title or 'New conversation'
end

--- Do something with the session; it is begun when there is none yet, once for all who ask meanwhile.
---@param options {title?: string, mode?: string, ephemeral?: boolean}
---@param done fun(err: table|nil, session: marvin.Session|nil)
function Conversation:begin(options, done)
  if self.session then
    done(nil, self.session)
    return
  end
  if self.beginning then
    table.insert(self.beginning, done)
    return
  end
  self.beginning = { done }
  client.request('session/new', vim.tbl_extend('force', { cwd = self.cwd }, options), function(err, result)
    local all = self.beginning or {}
    self.beginning = nil
    if not err then
      self.session = result.session
      tell(self, { type = 'session' })
    end
    -- Prompts that failed go back into the input, each before the one after it.
    for _, each in ipairs(err and vim.iter(all):rev():totable() or all) do
      each(err, self.session)
    end
  end)
end

--- Say something.
---@param text string
---@param context fun(): table[] `context` of `turn/start`; called when the server is ready
---@param when_busy 'queue'|'steer'
---@param done fun(err: table|nil) whether the server has taken it
function Conversation:send(text, context, when_busy, done)
  self:begin({}, function(err)
    if err then
      done(err)
      return
    end
    local id = self.unsent[text] or ('%s-%d'):format(vim.uv.os_getpid(), vim.uv.hrtime())
    self.unsent[text] = nil
    client.request('turn/start', {
      sessionId = self.session.id,
      clientTurnId = id,
      input = { { type = 'text', text = text } },
      context = context(),
      whenBusy = when_busy,
    }, function(problem, result)
      if problem then
        -- Under its own name a prompt that did arrive is not taken twice.
        self.unsent[text] = id
      elseif result.state == 'queued' then
        self.queued[result.turnId] = text
        tell(self, { type = 'queued', turnId = result.turnId, text = text })
      elseif result.state == 'steered' then
        table.insert(self.steered, text)
        tell(self, { type = 'steered', text = text })
      elseif result.state == 'finished' then
        self:load()
      end
      done(problem)
    end)
  end)
end

--- What can be ended here, in a word.
---@return string|nil
function Conversation:work()
  return self.turn and 'working' or self.session and self.session.activity
end

--- End what is at work, or a turn that waits. What has arrived is kept.
---@param turn string|nil
function Conversation:cancel(turn)
  if self.session then
    client.request('turn/cancel', { sessionId = self.session.id, turnId = turn }, say.or_error())
  end
end

--- Take over what was loaded, and what was told meanwhile.
---@private
---@param found marvin.Snapshot
---@param held table[] notifications
function Conversation:take_over(found, held)
  local first = found.newest
  self.session, self.seq, self.turn = first.session, first.seq, first.turnId
  self.permissions, self.patches = first.openPermissions, found.patches
  self.is_ours, self.steered = self:work() ~= nil, {}
  self:take_waiting(first)
  self.finished = vim.tbl_filter(function(turn)
    return turn ~= self.turn and not vim.list_contains(self.undone, turn)
  end, found.turns)
  tell(self, { type = 'loaded', snapshot = found })
  for _, params in ipairs(held) do
    self:take(params)
  end
  self:refresh_usage()
end

--- Get all of it anew: the state, and as many pages as were asked for.
---@param done fun(err: table|nil)|nil
function Conversation:load(done)
  if not self.session or self.held then
    return
  end
  self.held = {}
  snapshot.fetch(self.session.id, self.depth, function(err, found)
    local held = self.held or {}
    self.held = nil
    if found then
      self:take_over(found, held)
    end
    if done then
      done(err)
    elseif err then
      say.error(err.message)
    end
  end)
end

--- Take over which prompts wait, and which were never started.
---@private
---@param found table the answer of `session/load`
function Conversation:take_waiting(found)
  self.drafts, self.queued = found.drafts, {}
  for _, each in ipairs(found.queued) do
    self.queued[each.turnId] = (wording.typed(each.message))
  end
end

--- Ask which prompts wait, and which were never started, whole and with what goes along with them.
---@param done fun(found: table)|nil with the answer of `session/load`
function Conversation:refresh_waiting(done)
  client.request(
    'session/load',
    { sessionId = self.session.id, limit = 1 },
    say.or_error(function(found)
      self:take_waiting(found)
      tell(self, { type = 'waiting' })
      if done then
        done(found)
      end
    end)
  )
end

--- Load one more page of what was said earlier.
function Conversation:older()
  self.depth = self.depth + 1
  self:load()
end

--- Ask how much of the context is used and what it cost.
function Conversation:refresh_usage()
  client.request('usage/get', { sessionId = self.session.id }, function(err, result)
    if not err then
      self.usage = result
      tell(self, { type = 'session' })
    end
  end)
end

--- Take one `turn/events`.
---@param params table
function Conversation:take(params)
  if self.held then
    table.insert(self.held, params)
    return
  end
  if params.seq <= self.seq then
    return
  end
  if params.seq > self.seq + 1 then
    self:load()
    return
  end
  self.seq = params.seq
  for _, event in ipairs(wording.joined(params.events)) do
    state.note(self, event)
    tell(self, event)
  end
end

--- The server has ended: nothing runs, waits or is asked any more.
---@param why string
function Conversation:lose(why)
  self.turn, self.held, self.permissions, self.queued, self.steered = nil, nil, {}, {}, {}
  if self.session then
    self.session.busy, self.session.activity = false, nil
  end
  tell(self, { type = 'lost', message = why })
end

--- What the server says of the session is another thing now.
---@param session marvin.Session
function Conversation:change(session)
  local was = self.session
  self.session = session
  self.is_ours = self.is_ours or session.activity ~= nil
  tell(self, { type = 'session' })
  if not self.is_ours and was and was.updatedAt ~= session.updatedAt then
    self:load()
  end
  if not session.busy and not self.turn then
    self.is_ours = false
  end
end

return M
