--- What the events and the stored items of a conversation look like in its transcript.
local M = {}

local STATUS = { ok = 'done', error = 'failed', denied = 'denied', cancelled = 'cancelled', running = 'running' }
local STOP = {
  cancelled = 'Cancelled.',
  denied = 'Stopped: a question was answered with no.',
  roundLimit = 'Stopped at the limit of rounds.',
  budget = 'Stopped at the cost limit.',
}
local DECISION = {
  allowOnce = 'allowed once',
  allowSession = 'allowed for this session',
  allowEdited = 'allowed as edited',
  deny = 'denied',
  denyAndStop = 'denied, and the turn stopped',
}

--- A fence that is longer than any in the text, so that the text cannot end it.
---@param text string
---@param language string
---@return string
local function fenced(text, language)
  local longest = 2
  for run in text:gmatch('`+') do
    longest = math.max(longest, #run)
  end
  local fence = ('`'):rep(longest + 1)
  return ('%s%s\n%s\n%s'):format(fence, language, (text:gsub('\n$', '')), fence)
end

--- The text of a message's parts.
---@param parts table[]
---@param kind string
---@return string
local function said(parts, kind)
  local texts = {}
  for _, part in ipairs(parts) do
    if part.type == kind then
      texts[#texts + 1] = part.text
    elseif kind == 'text' and part.type == 'image' then
      texts[#texts + 1] = ('[image: %s]'):format(part.mimeType)
    end
  end
  return table.concat(texts)
end

local function tool_head(name, title, status, took)
  local what = title == name and name or ('%s: %s'):format(name, title)
  local long = took and took >= 1000 and (', %.1f s'):format(took / 1000) or ''
  return ('Tool %s (%s%s)'):format(what, STATUS[status] or status, long)
end

--- How many lines a patch adds and removes.
---@param edit table
---@return integer, integer
function M.counts(edit)
  local added, removed = 0, 0
  for _, hunk in ipairs(edit.hunks) do
    added, removed = added + #hunk.newLines, removed + #hunk.oldLines
  end
  return added, removed
end

local function patch_head(patch, verb)
  local files = {}
  for _, edit in ipairs(patch.edits) do
    local added, removed = M.counts(edit)
    local to = edit.newPath and (' -> ' .. edit.newPath) or ''
    files[#files + 1] = ('%s%s +%d -%d'):format(edit.path, to, added, removed)
  end
  return ('%s %s'):format(verb, table.concat(files, ', '))
end

local function patch_body(patch)
  local lines = {}
  for _, edit in ipairs(patch.edits) do
    for _, hunk in ipairs(edit.hunks) do
      lines[#lines + 1] = ('@@ %s:%d @@\n'):format(edit.path, hunk.newStart)
      for _, line in ipairs(hunk.oldLines) do
        lines[#lines + 1] = '-' .. line:gsub('\n$', '') .. '\n'
      end
      for _, line in ipairs(hunk.newLines) do
        lines[#lines + 1] = '+' .. line:gsub('\n$', '') .. '\n'
      end
    end
  end
  return fenced(table.concat(lines), 'diff')
end

---@param transcript marvin.Transcript
---@param patch table
local function show_patch(transcript, patch)
  local key = 'patch ' .. patch.id
  local verb = patch.is_proposed and 'Proposed' or 'Changed'
  local ask = patch.is_proposed and ' (waits for :Marvin review)' or ''
  transcript.titles[key] = patch_head(patch, verb)
  if transcript:has(key) then
    transcript:retitle(key, patch_head(patch, verb))
    transcript:settle(key, patch_body(patch))
  else
    transcript:open(key, patch_head(patch, verb) .. ask, {
      fold = true,
      highlight = 'MarvinTool',
      body = patch_body(patch),
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
---@param id string of the message
---@param kind 'message'|'thought'
---@return string key
local function message_block(transcript, id, kind)
  local key = kind .. ' ' .. id
  if not transcript:has(key) then
    if kind == 'thought' then
      transcript:open(key, 'Thinking', { fold = true, highlight = 'MarvinThought' })
    else
      transcript:open(key, '## Marvin', { highlight = 'MarvinAnswer' })
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
    local text = said(message.parts, 'text')
    -- What was sent along stands below what was typed.
    local typed, context = text:match('^(.-)\n\n(%[From the editor%..*)$')
    transcript:open(nil, '## You', { highlight = 'MarvinPrompt', body = '\n' .. (typed or text) })
    if context then
      transcript:open(nil, 'With this', { fold = true, highlight = 'MarvinTool', body = context })
    end
    return
  end
  local thought, text = said(message.parts, 'thinking'), said(message.parts, 'text')
  if thought ~= '' then
    transcript:settle(message_block(transcript, message.id, 'thought'), thought)
  end
  if text ~= '' then
    transcript:settle(message_block(transcript, message.id, 'message'), '\n' .. text)
  end
end

---@type table<string, fun(transcript: marvin.Transcript, event: table)>
local show = {
  ['message.delta'] = function(transcript, event)
    transcript:append(message_block(transcript, event.messageId, 'message'), event.text)
  end,
  ['thought.delta'] = function(transcript, event)
    transcript:append(message_block(transcript, event.messageId, 'thought'), event.text)
  end,
  ['thought.finished'] = function(transcript, event)
    transcript:settle(message_block(transcript, event.messageId, 'thought'), event.text)
  end,
  ['message.finished'] = function(transcript, event)
    show_message(transcript, event.message)
  end,
  ['tool.started'] = function(transcript, event)
    transcript:open('tool ' .. event.toolCallId, tool_head(event.name, event.title, 'running'), {
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
    transcript:retitle(key, tool_head(event.name, title, event.status, event.durationMs))
    transcript:settle(key, event.output == '' and '' or fenced(event.output, ''))
  end,
  ['permission.requested'] = function(transcript, event)
    show_question(transcript, event.permission)
  end,
  ['permission.resolved'] = function(transcript, event)
    local how = ('Question: %s, by %s'):format(DECISION[event.decision] or event.decision, event.by)
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
    transcript:open('queued ' .. event.turnId, 'Waits for its turn: ' .. event.text, { highlight = 'MarvinNotice' })
  end,
  ['turn.started'] = function(transcript, event)
    transcript:retitle('queued ' .. event.turnId, 'Its turn has come.')
  end,
  notice = function(transcript, event)
    local highlight = event.level == 'note' and 'MarvinNotice' or 'MarvinWarning'
    transcript:open(nil, ('%s: %s'):format(event.level:gsub('^%l', string.upper), event.text), {
      highlight = highlight,
    })
  end,
  ['turn.finished'] = function(transcript, event)
    transcript:retitle('queued ' .. event.turnId, 'Taken out of the queue.')
    if event.error then
      transcript:open(nil, 'Error: ' .. event.error.message, { highlight = 'MarvinWarning' })
    elseif STOP[event.stopReason] then
      transcript:open(nil, STOP[event.stopReason], { highlight = 'MarvinWarning' })
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
    transcript:open('tool ' .. item.id, tool_head(item.name, title, item.status), {
      fold = true,
      highlight = 'MarvinTool',
      body = item.output and item.output ~= '' and fenced(item.output, '') or nil,
    })
  elseif item.kind == 'patch' then
    show_patch(transcript, item.patch)
  elseif item.kind == 'notice' then
    show.notice(transcript, item)
  end
end

--- Show an event at the end of the transcript, or where it belongs.
---@param transcript marvin.Transcript
---@param event table
function M.event(transcript, event)
  local how = show[event.type]
  if how then
    how(transcript, event)
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
  for _, draft in ipairs(conversation.drafts) do
    local text = said(draft.message.parts, 'text')
    transcript:open('queued ' .. draft.id, 'Was never sent (:Marvin drafts): ' .. text, { highlight = 'MarvinNotice' })
  end
end

M.said = said

return M
