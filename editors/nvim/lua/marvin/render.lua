--- What the events and the stored items of a conversation look like in its transcript.
local heads = require('marvin.heads')
local wording = require('marvin.wording')

local M = {}

---@param transcript marvin.Transcript
---@param patch table
local function show_patch(transcript, patch)
  local key = 'patch ' .. patch.id
  local verb = patch.is_proposed and 'Proposed' or 'Changed'
  local ask = patch.is_proposed and ' (waits for :Marvin review)' or ''
  transcript.titles[key] = wording.patch_head(patch, verb)
  if transcript:has(key) then
    transcript:retitle(key, wording.patch_head(patch, verb))
    transcript:settle(key, wording.patch_body(patch))
  else
    transcript:open(key, wording.patch_head(patch, verb) .. ask, {
      fold = true,
      highlight = 'MarvinTool',
      body = wording.patch_body(patch),
    })
  end
end

---@param transcript marvin.Transcript
---@param permission table
local function show_question(transcript, permission)
  transcript:open('question ' .. permission.id, 'Question: ' .. permission.title .. ' (:Marvin question)', {
    highlight = 'MarvinQuestion',
  })
end

---@param transcript marvin.Transcript
---@param compaction table
local function show_compaction(transcript, compaction)
  local head, body = wording.compacted(compaction)
  transcript:open(nil, head, {
    fold = true,
    highlight = 'MarvinNotice',
    body = body ~= '' and body or nil,
  })
end

---@param transcript marvin.Transcript
---@param id string of the message
---@param kind 'message'|'thought'
---@return string key
local function message_block(transcript, id, kind)
  local key = kind .. ' ' .. id
  if not transcript:has(key) then
    if kind == 'thought' then
      transcript:open(key, 'Thinking', { fold = true, highlight = 'MarvinThought' })
    else
      transcript:open(key, heads.MARVIN, { heading = true, highlight = 'MarvinAnswer' })
      transcript:append(key, '\n')
    end
  end
  return key
end

---@param transcript marvin.Transcript
---@param message table
local function show_message(transcript, message)
  if message.role == 'tool' then
    return
  end
  if message.role == 'user' then
    local typed, added, images = wording.typed(message)
    local told = wording.told(typed)
    if told then
      transcript:open(nil, 'Marvin was told: ' .. told, { highlight = 'MarvinNotice' })
      return
    end
    transcript:rename('steered ' .. typed, 'Taken by the turn.')
    transcript:open(nil, heads.YOU, { heading = true, highlight = 'MarvinPrompt', body = '\n' .. typed })
    for _, each in ipairs(added) do
      transcript:open(nil, 'With: ' .. each.label, { fold = true, highlight = 'MarvinTool', body = each.text })
    end
    for _, image in ipairs(images) do
      transcript:open(nil, ('With: image (%s)'):format(image.mimeType), { highlight = 'MarvinTool' })
    end
    return
  end
  local thought, text = wording.said(message.parts, 'thinking'), wording.said(message.parts, 'text')
  if thought ~= '' then
    transcript:settle(message_block(transcript, message.id, 'thought'), thought)
  end
  if text ~= '' then
    transcript:settle(message_block(transcript, message.id, 'message'), '\n' .. text)
  end
end

---@param transcript marvin.Transcript
---@param turn string
---@param text string
local function show_queued(transcript, turn, text)
  transcript:open('queued ' .. turn, ('Waits for its turn: %s (:Marvin queue)'):format(text), {
    highlight = 'MarvinNotice',
  })
end

--- A prompt that was never started, in the place of what was said of it before.
---@param transcript marvin.Transcript
---@param draft table
local function show_draft(transcript, draft)
  local text, key = wording.typed(draft.message), 'draft ' .. draft.id
  local head = ('Was never sent: %s (:Marvin drafts)'):format(text)
  if transcript:has('steered ' .. text) then
    transcript:rename('steered ' .. text, head, key)
  elseif not transcript:has(key) then
    transcript:open(key, head, { highlight = 'MarvinNotice' })
  end
end

---@type table<string, fun(transcript: marvin.Transcript, event: table, conversation: marvin.Conversation)>
local show = {
  ['message.delta'] = function(transcript, event)
    transcript:append(message_block(transcript, event.messageId, 'message'), event.text)
  end,
  ['thought.delta'] = function(transcript, event)
    transcript:append(message_block(transcript, event.messageId, 'thought'), event.text)
  end,
  ['thought.finished'] = function(transcript, event)
    local key = message_block(transcript, event.messageId, 'thought')
    transcript:settle(key, event.text)
    transcript:retitle(key, wording.thinking(transcript:age(key)))
  end,
  ['message.finished'] = function(transcript, event)
    show_message(transcript, event.message)
  end,
  ['tool.started'] = function(transcript, event)
    transcript:open('tool ' .. event.toolCallId, wording.tool(event.name, event.title, 'running'), {
      fold = true,
      highlight = 'MarvinTool',
    })
    transcript.titles[event.toolCallId] = event.title
  end,
  ['tool.output'] = function(transcript, event)
    transcript:append('tool ' .. event.toolCallId, event.text)
  end,
  ['tool.finished'] = function(transcript, event)
    local key = 'tool ' .. event.toolCallId
    local title = transcript.titles[event.toolCallId] or event.name
    transcript:retitle(key, wording.tool(event.name, title, event.status, event.durationMs))
    transcript:settle(key, event.output == '' and '' or wording.fenced(event.output, ''))
  end,
  ['permission.requested'] = function(transcript, event)
    show_question(transcript, event.permission)
  end,
  ['permission.resolved'] = function(transcript, event)
    local how = ('Question: %s, by %s'):format(wording.DECISION[event.decision] or event.decision, event.by)
    transcript:retitle('question ' .. event.permissionId, how)
  end,
  ['patch.proposed'] = function(transcript, event)
    show_patch(transcript, event.patch)
  end,
  ['patch.applied'] = function(transcript, event)
    show_patch(transcript, event.patch)
  end,
  ['patch.resolved'] = function(transcript, event)
    local key = 'patch ' .. event.patchId
    transcript:retitle(key, transcript.titles[key] or '')
    local reasons = {}
    for _, rejected in ipairs(event.rejected) do
      reasons[#reasons + 1] = rejected.reason
    end
    local why = #reasons > 0 and (': ' .. table.concat(reasons, '; ')) or ''
    transcript:open(nil, ('Reviewed: %d kept, %d rejected%s'):format(#event.kept, #event.rejected, why), {
      highlight = 'MarvinNotice',
    })
  end,
  queued = function(transcript, event)
    show_queued(transcript, event.turnId, event.text)
  end,
  steered = function(transcript, event)
    transcript:open('steered ' .. event.text, 'Given to the running turn: ' .. event.text, {
      highlight = 'MarvinNotice',
    })
  end,
  waiting = function(transcript, _, conversation)
    for _, draft in ipairs(conversation.drafts) do
      show_draft(transcript, draft)
    end
  end,
  ['turn.started'] = function(transcript, event)
    transcript:rename('queued ' .. event.turnId, 'Its turn has come.')
  end,
  notice = function(transcript, event)
    local level = event.level:gsub('^%l', string.upper) .. ': '
    -- What a command says is a table, at times: its lines stay below one another.
    local first, rest = event.text:gsub('\n', '\n' .. (' '):rep(#level)):match('^([^\n]*)\n?(.*)$')
    transcript:open(nil, level .. first, {
      highlight = event.level == 'note' and 'MarvinNotice' or 'MarvinWarning',
      body = rest ~= '' and rest or nil,
    })
  end,
  compaction = show_compaction,
  ['turn.finished'] = function(transcript, event)
    transcript:rename('queued ' .. event.turnId, 'Taken out of the queue.')
    if event.error then
      transcript:open(nil, 'Error: ' .. event.error.message, { highlight = 'MarvinWarning' })
    elseif wording.STOP[event.stopReason] then
      transcript:open(nil, wording.STOP[event.stopReason], { highlight = 'MarvinWarning' })
    end
  end,
  lost = function(transcript, event)
    transcript:open(nil, 'Error: ' .. event.message, { highlight = 'MarvinWarning' })
  end,
}

---@param transcript marvin.Transcript
---@param item table
local function show_item(transcript, item)
  if item.kind == 'message' then
    show_message(transcript, item.message)
  elseif item.kind == 'toolCall' then
    local title = type(item.input) == 'table' and (item.input.command or item.input.path) or item.name
    title = type(title) == 'string' and title or item.name
    transcript.titles[item.id] = title
    transcript:open('tool ' .. item.id, wording.tool(item.name, title, item.status), {
      fold = true,
      highlight = 'MarvinTool',
      body = item.output and item.output ~= '' and wording.fenced(item.output, '') or nil,
    })
  elseif item.kind == 'compaction' then
    show_compaction(transcript, item.compaction)
  elseif item.kind == 'patch' then
    show_patch(transcript, item.patch)
  elseif item.kind == 'notice' then
    show.notice(transcript, item, {})
  end
end

--- Show an event at the end of the transcript, or where it belongs.
---@param transcript marvin.Transcript
---@param conversation marvin.Conversation
---@param event table
function M.event(transcript, conversation, event)
  local how = show[event.type]
  if how then
    how(transcript, event, conversation)
  end
end

--- Show a conversation as it was loaded.
---@param transcript marvin.Transcript
---@param conversation marvin.Conversation
---@param snapshot table
function M.snapshot(transcript, conversation, snapshot)
  transcript:clear()
  if snapshot.cursor then
    transcript:open('older', 'Earlier messages are not shown: :Marvin older', { highlight = 'MarvinNotice' })
  end
  for _, item in ipairs(snapshot.items) do
    show_item(transcript, item)
  end
  if snapshot.partial then
    local partial = snapshot.partial
    if partial.thought then
      transcript:append(message_block(transcript, partial.messageId, 'thought'), partial.thought)
    end
    if partial.text ~= '' then
      transcript:append(message_block(transcript, partial.messageId, 'message'), partial.text)
    end
  end
  for _, permission in ipairs(conversation.permissions) do
    show_question(transcript, permission)
  end
  for _, each in ipairs(snapshot.newest.queued) do
    show_queued(transcript, each.turnId, (wording.typed(each.message)))
  end
  for _, draft in ipairs(conversation.drafts) do
    show_draft(transcript, draft)
  end
end

return M
