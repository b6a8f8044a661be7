--- The options of a conversation: mode, provider, model, thinking.
local chat = require('marvin.chat')
local client = require('marvin.client')
local say = require('marvin.say')

local M = {}

---@return string|nil the session that an option is changed of; nil: those that begin later
local function session()
  local current = chat.current()
  return current and current.session and current.session.id
end

---@param name string
---@param value string
local function set(name, value)
  client.request(
    'config/set',
    { name = name, value = value, sessionId = session() },
    say.or_error(function()
      say.note(('%s: %s'):format(name, value))
      require('marvin.status').refresh()
    end)
  )
end

---@param option table
---@param choices {value: string, description?: string}[]
local function choose(option, choices)
  vim.ui.select(choices, {
    prompt = ('%s (now %s)'):format(option.title, option.value),
    format_item = function(choice)
      return choice.description and ('%s: %s'):format(choice.value, choice.description) or choice.value
    end,
  }, function(choice)
    if choice then
      set(option.name, choice.value)
    end
  end)
end

--- All models that the providers have, as choices.
---@param done fun(choices: table[])
local function models(provider, done)
  client.request(
    'models/list',
    { provider = provider },
    say.or_error(function(result)
      local choices = {}
      for _, each in ipairs(result.providers) do
        for _, model in ipairs(each.models) do
          choices[#choices + 1] = {
            value = model.id,
            description = model.contextSize and ('%d tokens'):format(model.contextSize) or nil,
          }
        end
      end
      done(choices)
    end)
  )
end

--- Give an option a value; without one the person chooses.
---@param name 'mode'|'provider'|'model'|'thinking'
---@param value string|nil
function M.set(name, value)
  if value then
    set(name, value)
    return
  end
  client.request(
    'config/get',
    { sessionId = session() },
    say.or_error(function(result)
      local by_name = {}
      for _, option in ipairs(result.options) do
        by_name[option.name] = option
      end
      local option = by_name[name]
      if not option then
        say.warn('this server has no option ' .. name)
      elseif name == 'model' then
        models(by_name.provider and by_name.provider.value, function(choices)
          if #choices == 0 then
            say.note('no models are known; name one: :Marvin model NAME')
          else
            choose(option, choices)
          end
        end)
      else
        choose(option, option.choices)
      end
    end)
  )
end

return M
