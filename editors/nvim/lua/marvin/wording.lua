--- The words for what happens in a conversation: heads and texts of a transcript's blocks.
local M = {}

local STATUS = { ok = 'done', error = 'failed', denied = 'denied', cancelled = 'cancelled', running = 'running' }
--- Why a turn ended, where it did not simply come to its end.
M.STOP = {
  cancelled = 'Cancelled.',
  denied = 'Stopped: a question was answered with no.',
  roundLimit = 'Stopped at the limit of rounds.',
  budget = 'Stopped at the cost limit.',
}
--- What was answered to a question.
M.DECISION = {
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
function M.fenced(text, language)
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
function M.said(parts, kind)
  local texts = {}
  for _, part in ipairs(parts) do
    if part.type == kind then
      texts[#texts + 1] = part.text
    end
  end
  return table.concat(texts)
end

---@class marvin.Added what was sent along with a prompt
---@field label string
---@field text string as the model reads it: in a fence, with a title above it
---@field uri string|nil of the file that it is from

--- What the person typed in a message, and what was sent along with it.
---@param message table
---@return string typed
---@return marvin.Added[] added
---@return table[] images
function M.typed(message)
  local typed, added, images = {}, {}, {}
  for _, part in ipairs(message.parts) do
    if part.label then
      added[#added + 1] = { label = part.label, text = vim.trim(part.text or ''), uri = part.uri }
    elseif part.type == 'image' then
      images[#images + 1] = part
    elseif part.type == 'text' then
      typed[#typed + 1] = part.text
    end
  end
  return table.concat(typed), added, images
end

--- What the model was told in the person's place, of a message that nobody typed.
---@param typed string
---@return string|nil
function M.told(typed)
  return typed:match('^%[Marvin: (.*)%]$')
end

--- The first line of what the model thought.
---@param took integer ms
---@return string
function M.thinking(took)
  return took >= 1000 and ('Thinking (%d s)'):format(math.floor(took / 1000 + 0.5)) or 'Thinking'
end

---@param number integer
---@return string such as 31,000
local function grouped(number)
  local text = tostring(number)
  local count ---@type integer
  repeat
    text, count = text:gsub('^(%d+)(%d%d%d)', '%1,%2')
  until count == 0
  return text
end

--- The first line of a compaction, and what the model reads by it.
---@param compaction table
---@return string head
---@return string body
function M.compacted(compaction)
  local count, message, note = compaction.replaced, compaction.message, compaction.note
  local what = ('Summarised: %s earlier message%s'):format(grouped(count), count == 1 and '' or 's')
  local before, after = grouped(compaction.tokensBefore), grouped(compaction.tokensAfter)
  local head = compaction.reason == 'undo' and 'Summary taken back' or what
  local why = note and ('No model wrote it: %s\n\n'):format(note) or ''
  return ('%s (%s → %s tokens)'):format(head, before, after), message and why .. M.said(message.parts, 'text') or ''
end

--- The events, with what notices of one level say one after the other as one notice of several lines.
---@param events table[]
---@return table[]
function M.joined(events)
  local joined = {}
  for _, event in ipairs(events) do
    local last = joined[#joined]
    if event.type == 'notice' and last and last.type == 'notice' and last.level == event.level then
      last.text = last.text .. '\n' .. event.text
    else
      joined[#joined + 1] = event
    end
  end
  return joined
end

--- The first line of a tool call.
---@param name string
---@param title string
---@param status string
---@param took integer|nil ms
---@return string
function M.tool(name, title, status, took)
  local about = vim.startswith(title, name .. ' ') and title:sub(#name + 2) or title
  local what = about == name and name or ('%s: %s'):format(name, about)
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

--- The first line of a patch.
---@param patch table
---@param verb string
---@return string
function M.patch_head(patch, verb)
  local files = {}
  for _, edit in ipairs(patch.edits) do
    local added, removed = M.counts(edit)
    local to = edit.newPath and (' -> ' .. edit.newPath) or ''
    files[#files + 1] = ('%s%s +%d -%d'):format(edit.path, to, added, removed)
  end
  return ('%s %s'):format(verb, table.concat(files, ', '))
end

--- The hunks of a patch.
---@param patch table
---@return string
function M.patch_body(patch)
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
  return M.fenced(table.concat(lines), 'diff')
end

return M
