--- Prompts that have not been started: those that wait for their turn, and those that never had one, since the server
--- ended or a turn did. They can be taken back into the input, or dropped; none of the latter is sent by itself.
local chat = require('marvin.chat')
local client = require('marvin.client')
local context = require('marvin.context')
local conversations = require('marvin.conversations')
local input = require('marvin.input')
local say = require('marvin.say')
local wording = require('marvin.wording')

local M = {}

local TAKE, DROP, LEAVE = 'Back into the input', 'Drop it', 'Leave it'
local told = {} ---@type table<string, boolean> drafts that the person knows of

---@class marvin.Prompt
---@field id string to be cancelled by
---@field message table

---@param prompt marvin.Prompt
---@return string in one line
local function title(prompt)
  return (wording.typed(prompt.message):gsub('\n', ' '))
end

--- Put a prompt into the input, and what went along with it where it was.
---@param prompt marvin.Prompt
local function take_back(prompt)
  local text, added, images = wording.typed(prompt.message)
  input.give_back(text)
  for _, each in ipairs(added) do
    context.add_again(each)
  end
  for _, image in ipairs(images) do
    context.add_image('image', image.mimeType, image.data)
  end
  chat.focus()
end

---@param conversation marvin.Conversation
---@param prompt marvin.Prompt
local function decide(conversation, prompt)
  vim.ui.select({ TAKE, DROP, LEAVE }, { prompt = title(prompt) }, function(choice)
    if not choice or choice == LEAVE then
      return
    end
    if conversation.turn == prompt.id then
      say.note('its turn has come meanwhile')
      return
    end
    client.request(
      'turn/cancel',
      { sessionId = conversation.session.id, turnId = prompt.id },
      say.or_error(function()
        if choice == TAKE then
          take_back(prompt)
        end
        conversation:load()
      end)
    )
  end)
end

---@param conversation marvin.Conversation
---@param prompts marvin.Prompt[]
---@param heading string
---@param none string what is said where there are none
local function choose(conversation, prompts, heading, none)
  if #prompts == 0 then
    say.note(none)
  elseif #prompts == 1 then
    decide(conversation, prompts[1])
  else
    vim.ui.select(prompts, { prompt = heading, format_item = title }, function(prompt)
      if prompt then
        decide(conversation, prompt)
      end
    end)
  end
end

--- Go on with a prompt of the conversation that was never started, or drop it.
function M.choose()
  local current = chat.begun()
  if current then
    choose(current, current.drafts, 'Prompts that were never sent', 'every prompt of this conversation was sent')
  end
end

--- Take out a prompt that waits for its turn.
function M.queue()
  local current = chat.begun()
  if current then
    current:refresh_waiting(function(found)
      local prompts = vim.tbl_map(function(queued)
        return { id = queued.turnId, message = queued.message }
      end, found.queued)
      choose(current, prompts, 'Prompts that wait for their turn', 'no prompt waits for its turn')
    end)
  end
end

conversations.listen(function(conversation, event)
  if (event.type == 'loaded' or event.type == 'waiting') and conversation == chat.current() then
    for _, draft in ipairs(conversation.drafts) do
      if not told[draft.id] then
        told[draft.id] = true
        say.note('a prompt was never sent (:Marvin drafts)')
      end
    end
  end
end)

return M
