--- Conversations that were had before: found, gone on with, forked, renamed, deleted.
local chat = require('marvin.chat')
local client = require('marvin.client')
local conversations = require('marvin.conversations')
local say = require('marvin.say')

local M = {}

---@param session marvin.Session
---@return string
local function line(session)
  local title = session.title ~= '' and session.title or 'Without a title'
  local busy = session.busy and ', working' or ''
  return ('%s (%s%s)'):format(title, session.updatedAt:sub(1, 16):gsub('T', ' '), busy)
end

--- Choose among the conversations of the project, or with `everywhere` of all folders.
---@param query string|nil words that were said in it
---@param everywhere boolean
function M.pick(query, everywhere)
  local found = {}
  local buf = vim.api.nvim_get_current_buf()
  local current = chat.current()
  local cwd = vim.bo[buf].buftype ~= '' and current and current.cwd or client.root(buf)
  local function page(cursor)
    local params = { cwd = not everywhere and cwd or nil, query = query, cursor = cursor }
    client.request(
      'session/list',
      params,
      say.or_error(function(result)
        vim.list_extend(found, result.sessions)
        if #found == 0 then
          say.note('no conversation was found')
          return
        end
        local choices = vim.list_extend({}, found)
        if result.nextCursor then
          choices[#choices + 1] = 'more'
        end
        vim.ui.select(choices, {
          prompt = 'Conversation',
          format_item = function(choice)
            return choice == 'more' and 'Show more' or line(choice)
          end,
        }, function(choice)
          if choice == 'more' then
            page(result.nextCursor)
          elseif choice then
            M.resume(choice)
          end
        end)
      end)
    )
  end
  page()
end

--- Go on with a session.
---@param session marvin.Session
function M.resume(session)
  chat.show(conversations.of(session))
  chat.focus()
end

--- Begin a session that shares what was said so far.
function M.fork()
  local current = chat.begun()
  if current then
    client.request(
      'session/fork',
      { sessionId = current.session.id },
      say.or_error(function(result)
        M.resume(result.session)
        say.note('this is the fork; the other conversation is as it was')
      end)
    )
  end
end

--- Give the conversation another title.
---@param title string|nil asked for where it is nil
function M.rename(title)
  local current = chat.begun()
  if not current then
    return
  end
  local function rename(given)
    if given and vim.trim(given) ~= '' then
      client.request(
        'session/update',
        { sessionId = current.session.id, title = given },
        say.or_error(function(result)
          current.session = result.session
          chat.relabel()
        end)
      )
    end
  end
  if title then
    rename(title)
  else
    vim.ui.input({ prompt = 'Title: ', default = current.session.title }, rename)
  end
end

--- Delete the conversation, once the person has said so again.
function M.delete()
  local current = chat.begun()
  if not current then
    return
  end
  vim.ui.select({ 'Keep it', 'Delete it' }, { prompt = ('Delete "%s"?'):format(current:title()) }, function(choice)
    if choice == 'Delete it' then
      client.request(
        'session/delete',
        { sessionId = current.session.id },
        say.or_error(function()
          conversations.forget(current)
          chat.new()
        end)
      )
    end
  end)
end

--- Go on with a prompt that was never started, or drop it.
function M.drafts()
  local current = chat.begun()
  if not current then
    return
  end
  if #current.drafts == 0 then
    say.note('every prompt of this conversation was sent')
    return
  end
  vim.ui.select(current.drafts, {
    prompt = 'Take it back into the input',
    format_item = function(draft)
      return (require('marvin.render').said(draft.message.parts, 'text'):gsub('\n', ' '))
    end,
  }, function(draft)
    if draft then
      chat.fill(require('marvin.render').said(draft.message.parts, 'text'))
      chat.focus()
      client.request(
        'turn/cancel',
        { sessionId = current.session.id, turnId = draft.id },
        say.or_error(function()
          current:load()
        end)
      )
    end
  end)
end

return M
