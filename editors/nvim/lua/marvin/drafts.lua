--- Prompts that were never started, since the server ended or their turn did: offered back, never sent by themselves.
local chat = require('marvin.chat')
local client = require('marvin.client')
local conversations = require('marvin.conversations')
local input = require('marvin.input')
local say = require('marvin.say')
local wording = require('marvin.wording')

local M = {}

local TAKE, DROP = 'Back into the input', 'Drop it'
local told = {} ---@type table<string, boolean> drafts that the person knows of

---@param draft table
---@return string
local function text_of(draft)
  return (wording.typed(draft.message))
end

---@param conversation marvin.Conversation
---@param draft table
local function drop(conversation, draft)
  client.request(
    'turn/cancel',
    { sessionId = conversation.session.id, turnId = draft.id },
    say.or_error(function()
      conversation:load()
    end)
  )
end

---@param conversation marvin.Conversation
---@param draft table
local function decide(conversation, draft)
  vim.ui.select({ TAKE, DROP }, { prompt = text_of(draft):gsub('\n', ' ') }, function(choice)
    if choice == TAKE then
      input.give_back(text_of(draft))
      chat.focus()
    end
    if choice then
      drop(conversation, draft)
    end
  end)
end

--- Go on with a prompt of the conversation that was never started, or drop it.
function M.choose()
  local current = chat.begun()
  if not current then
    return
  end
  if #current.drafts == 0 then
    say.note('every prompt of this conversation was sent')
  elseif #current.drafts == 1 then
    decide(current, current.drafts[1])
  else
    vim.ui.select(current.drafts, {
      prompt = 'Prompts that were never sent',
      format_item = function(draft)
        return (text_of(draft):gsub('\n', ' '))
      end,
    }, function(draft)
      if draft then
        decide(current, draft)
      end
    end)
  end
end

conversations.listen(function(conversation, event)
  if event.type == 'loaded' and conversation == chat.current() then
    for _, draft in ipairs(conversation.drafts) do
      if not told[draft.id] then
        told[draft.id] = true
        say.note('a prompt was never sent (:Marvin drafts)')
      end
    end
  end
end)

return M
