--- `:Marvin status` and `:Marvin usage`: what the server says of itself and of the conversation, in words.
local chat = require('marvin.chat')
local client = require('marvin.client')
local say = require('marvin.say')

local M = {}

--- The tokens, the context and the cost of the conversation.
function M.usage()
  local conversation = chat.begun()
  if not conversation then
    return
  end
  client.request(
    'usage/get',
    { sessionId = conversation.session.id },
    say.or_error(function(result)
      local tokens = result.tokens
      say.whole(
        ('%d tokens in (%d of them cached), %d out; context %d of %s; cost %s'):format(
          tokens.input,
          tokens.cacheRead,
          tokens.output,
          result.contextUsed,
          result.contextSize or 'unknown',
          result.costUsd and ('$%.4f'):format(result.costUsd) or 'unknown'
        )
      )
    end)
  )
end

--- The model, the login, the version, and what to do about a problem.
function M.status()
  client.request(
    'status',
    {},
    say.or_error(function(result)
      local message = result.message and ('; ' .. result.message) or ''
      say.whole(
        ('%s, %s, login %s, %s, version %s%s'):format(
          result.provider,
          result.model,
          result.auth,
          result.busy and 'working' or 'ready',
          result.version,
          message
        )
      )
    end)
  )
end

return M
