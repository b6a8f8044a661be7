--- The conversations that this editor has to do with: what state each is in, and who is told of its events.
local client = require('marvin.client')
local say = require('marvin.say')

local M = {}

---@class marvin.Session
---@field id string
---@field title string
---@field cwd string
---@field mode string
---@field model string
---@field updatedAt string
---@field busy boolean

---@class marvin.Event one of the server's (docs/events.md), or `loaded {snapshot}`, `lost`, `session`, `queued`
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
---@field finished string[] turns that ended here and were not undone, the latest last
---@field undone string[] turns that were undone, the latest last
---@field drafts table[] prompts that were never started
---@field depth integer pages that are loaded
---@field private held table[]|nil notifications that came while it was loaded
---@field private is_ours boolean what changes now is of this process
local Conversation = {}
Conversation.__index = Conversation

local by_id = {} ---@type table<string, marvin.Conversation>
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
    depth = 1,
    is_ours = false,
  }, Conversation)
end

--- The conversation of a session that the server told of.
---@param session marvin.Session
---@return marvin.Conversation
function M.of(session)
  local found = by_id[session.id] or M.new(session.cwd)
  found.session = session
  by_id[session.id] = found
  return found
end

--- The session is no more.
---@param conversation marvin.Conversation
function M.forget(conversation)
  by_id[conversation.session.id] = nil
  conversation.session = nil
end

---@return marvin.Conversation[]
function M.all()
  return vim.tbl_values(by_id)
end

--- What is shown as the name of a conversation.
---@return string
function Conversation:title()
  local title = self.session and self.session.title or ''
  return title ~= '' and title or 'New conversation'
end

--- Do something with the session; it is begun when there is none yet.
---@param options {title?: string, mode?: string, ephemeral?: boolean}
---@param done fun(err: table|nil, session: marvin.Session|nil)
function Conversation:begin(options, done)
  if self.session then
    done(nil, self.session)
    return
  end
  client.request('session/new', vim.tbl_extend('force', { cwd = self.cwd }, options), function(err, result)
    if not err then
      self.session = result.session
      by_id[result.session.id] = self
      tell(self, { type = 'session' })
    end
    done(err, result and result.session)
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
    client.request('turn/start', {
      sessionId = self.session.id,
      clientTurnId = ('%s-%d'):format(vim.uv.os_getpid(), vim.uv.hrtime()),
      input = { { type = 'text', text = text } },
      context = context(),
      whenBusy = when_busy,
    }, function(problem, result)
      if result and result.state == 'queued' then
        self.queued[result.turnId] = text
        tell(self, { type = 'queued', turnId = result.turnId, text = text })
      end
      done(problem)
    end)
  end)
end

--- End the running turn, or one that waits. What has arrived is kept.
---@param turn string|nil
function Conversation:cancel(turn)
  if self.session then
    client.request('turn/cancel', { sessionId = self.session.id, turnId = turn }, say.or_error())
  end
end

--- Get all of it anew: the state, and as many pages as were asked for.
---@param done fun(err: table|nil)|nil
function Conversation:load(done)
  if not self.session or self.held then
    return
  end
  self.held = {}
  local pages = {} ---@type table[]
  local first ---@type table
  local function finish(err)
    local held = self.held or {}
    self.held = nil
    if not err then
      local items = {}
      for index = #pages, 1, -1 do
        vim.list_extend(items, pages[index].items)
      end
      self.session, self.seq, self.turn = first.session, first.seq, first.turnId
      self.permissions, self.patches = first.openPermissions, first.pendingPatches
      -- A patch whose tool call runs has not been applied: the call waits for the review.
      local runs = {}
      for _, item in ipairs(items) do
        runs[item.id] = item.kind == 'toolCall' and item.status == 'running'
      end
      for _, patch in ipairs(self.patches) do
        patch.is_proposed = runs[patch.toolCallId] or nil
      end
      self.is_ours, self.drafts = first.turnId ~= nil, first.drafts
      tell(self, {
        type = 'loaded',
        snapshot = { items = items, partial = first.partial, cursor = pages[#pages].cursor },
      })
      for _, params in ipairs(held) do
        self:take(params)
      end
      self:refresh_usage()
    end
    if done then
      done(err)
    elseif err then
      say.error(err.message)
    end
  end
  local function page(before)
    client.request('session/load', { sessionId = self.session.id, before = before }, function(err, result)
      if err then
        finish(err)
        return
      end
      pages[#pages + 1] = result
      first = first or result
      if result.cursor and #pages < self.depth then
        page(result.cursor)
      else
        finish()
      end
    end)
  end
  page()
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

---@param list table[]
---@param id string
local function without(list, id)
  return vim.tbl_filter(function(each)
    return each.id ~= id
  end, list)
end

--- Bring the state up to date with an event, before anybody is told of it.
---@param event table
function Conversation:note(event)
  local kind = event.type
  if kind == 'turn.started' then
    self.turn, self.is_ours = event.turnId, true
    self.queued[event.turnId] = nil
  elseif kind == 'turn.finished' then
    if self.turn == event.turnId then
      self.turn = nil
      self.finished[#self.finished + 1] = event.turnId
    end
    self.queued[event.turnId] = nil
    self:refresh_usage()
  elseif kind == 'permission.requested' then
    self.permissions = without(self.permissions, event.permission.id)
    table.insert(self.permissions, event.permission)
  elseif kind == 'permission.resolved' then
    self.permissions = without(self.permissions, event.permissionId)
  elseif kind == 'patch.proposed' then
    event.patch.is_proposed = true
    table.insert(self.patches, event.patch)
  elseif kind == 'patch.applied' then
    self.patches = without(self.patches, event.patch.id)
    table.insert(self.patches, event.patch)
  elseif kind == 'patch.resolved' then
    local decided = vim.list_extend({}, event.kept)
    for _, rejected in ipairs(event.rejected) do
      decided[#decided + 1] = rejected.hunkId
    end
    self:decide(event.patchId, decided)
  end
end

--- Take hunks that are decided on out of a patch, and the patch with its last one.
---@param id string
---@param hunks string[]
function Conversation:decide(id, hunks)
  local left = 0
  for _, patch in ipairs(self.patches) do
    for _, edit in ipairs(patch.id == id and patch.edits or {}) do
      edit.hunks = vim.tbl_filter(function(hunk)
        return not vim.list_contains(hunks, hunk.id)
      end, edit.hunks)
      left = left + #edit.hunks
    end
  end
  if left == 0 then
    self.patches = without(self.patches, id)
  end
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
  for _, event in ipairs(params.events) do
    self:note(event)
    tell(self, event)
  end
end

client.hear('turn/events', function(params)
  local conversation = by_id[params.sessionId]
  if not conversation then
    -- Begun by a code action: its questions and patches concern the person all the same.
    conversation =
      M.of({ id = params.sessionId, title = '', cwd = vim.fn.getcwd(), mode = '', model = '', busy = true })
    conversation.seq = params.seq - 1
  end
  conversation:take(params)
end)

client.hear('session/changed', function(params)
  local conversation = by_id[params.session.id]
  if not conversation then
    return
  end
  local was = conversation.session
  conversation.session = params.session
  tell(conversation, { type = 'session' })
  if not conversation.is_ours and was and was.updatedAt ~= params.session.updatedAt then
    conversation:load()
  end
  if not params.session.busy and not conversation.turn then
    conversation.is_ours = false
  end
end)

client.watch(function(what)
  for id, conversation in pairs(by_id) do
    if what == 'ready' then
      conversation:load(function(err)
        if err then
          by_id[id], conversation.session = nil, nil
          tell(conversation, { type = 'lost', message = err.message })
        end
      end)
    else
      conversation.turn, conversation.held, conversation.permissions = nil, nil, {}
      conversation.queued = {}
      tell(conversation, { type = 'lost', message = 'the server has ended' })
    end
  end
end)

return M
