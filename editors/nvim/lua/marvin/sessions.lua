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
  local fork = session.parentId and ', fork' or ''
  local busy = session.busy and ', working' or ''
  return ('%s (%s%s%s)'):format(title, session.updatedAt:sub(1, 16):gsub('T', ' '), fork, busy)
end

---@class marvin.Search
---@field cwd string|nil of all folders where it is nil
---@field query string|nil words that were said
---@field done fun(session: marvin.Session)
---@field prompt string

--- Let the person choose one of the conversations that are found, page by page.
---@param search marvin.Search
---@param more {title: string, run: fun()}[] what else there is to choose
local function choose(search, more)
  local found = {}
  local function page(cursor)
    client.request(
      'session/list',
      { cwd = search.cwd, query = search.query, cursor = cursor },
      say.or_error(function(result)
        vim.list_extend(found, result.sessions)
        if #found == 0 then
          say.note('no conversation was found')
          return
        end
        local choices = vim.list_extend({}, found)
        if result.nextCursor then
          choices[#choices + 1] = {
            title = 'Show more',
            run = function()
              page(result.nextCursor)
            end,
          }
        end
        vim.ui.select(vim.list_extend(choices, more), {
          prompt = search.prompt,
          format_item = function(choice)
            return choice.run and choice.title or line(choice)
          end,
        }, function(choice)
          if choice and choice.run then
            choice.run()
          elseif choice then
            search.done(choice)
          end
        end)
      end)
    )
  end
  page()
end

--- Choose among the conversations of the project, or with `everywhere` of all folders: one to go on with, or one to be
--- put away.
---@param query string|nil words that were said in it
---@param everywhere boolean
function M.pick(query, everywhere)
  local buf = vim.api.nvim_get_current_buf()
  local current = chat.current()
  local cwd = vim.bo[buf].buftype ~= '' and current and current.cwd or client.root(buf)
  local function search(prompt, done)
    return { cwd = not everywhere and cwd or nil, query = query, prompt = prompt, done = done }
  end
  local function another(title, done)
    return {
      title = title,
      run = function()
        choose(search(title, done), {})
      end,
    }
  end
  choose(search('Conversation', M.resume), {
    another('Archive one', function(session)
      M.archive(session, true)
    end),
    another('Delete one', M.delete),
  })
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
          vim.cmd.redrawstatus({ bang = true })
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

---@param session marvin.Session|nil
---@return marvin.Session|nil it, or that of the panel
local function or_current(session)
  local current = not session and chat.begun() or nil
  return session or current and current.session
end

--- Take a conversation out of the list, where it is found by its words alone; or put it there again.
---@param session marvin.Session|nil that of the panel
---@param is_archived boolean
function M.archive(session, is_archived)
  session = or_current(session)
  if session then
    client.request(
      'session/update',
      { sessionId = session.id, archived = is_archived },
      say.or_error(function()
        say.note(is_archived and 'archived: :Marvin sessions WORDS finds it' or 'it is in the list again')
      end)
    )
  end
end

--- Delete a conversation, once the person has said so again.
---@param session marvin.Session|nil that of the panel
function M.delete(session)
  session = or_current(session)
  if not session then
    return
  end
  vim.ui.select({ 'Keep it', 'Delete it' }, { prompt = ('Delete %s?'):format(line(session)) }, function(choice)
    if choice == 'Delete it' then
      client.request(
        'session/delete',
        { sessionId = session.id },
        say.or_error(function()
          local gone = conversations.forget(session.id)
          if gone and gone == chat.current() then
            chat.new()
          end
          say.note('the conversation was deleted')
        end)
      )
    end
  end)
end

return M
