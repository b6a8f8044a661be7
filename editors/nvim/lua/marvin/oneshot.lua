--- What is asked about the code at the cursor or in the selection: one question or one change, in a conversation of its
--- own.
local chat = require('marvin.chat')
local client = require('marvin.client')
local conversations = require('marvin.conversations')
local positions = require('marvin.positions')
local say = require('marvin.say')
local subjects = require('marvin.subject')
local wording = require('marvin.wording')

local M = {}

local TITLES = {
  explain = 'Explain',
  fix = 'Fix',
  test = 'Write tests for',
  document = 'Document',
  refactor = 'Refactor',
  ask = 'Ask about',
}
-- Of these the answer is what was asked for; the others change files.
local SAYS = { explain = true, ask = true }

---@class marvin.Waiting
---@field done fun(text: string) with the last thing that was said
---@field text string

local waiting = {} ---@type table<marvin.Conversation, marvin.Waiting>

conversations.listen(function(conversation, event)
  local one = waiting[conversation]
  if not one then
    return
  end
  if event.type == 'message.finished' and event.message.role == 'assistant' then
    one.text = wording.said(event.message.parts, 'text')
  elseif event.type == 'turn.finished' then
    waiting[conversation] = nil
    if event.stopReason == 'completed' then
      one.done(one.text)
    else
      local why = event.error and event.error.message or event.stopReason
      say.warn(('%s: %s'):format(conversation:title(), why))
    end
  elseif event.type == 'lost' then
    waiting[conversation] = nil
    say.warn(('%s: %s'):format(conversation:title(), event.message))
  end
end)

---@param conversation marvin.Conversation
---@param subject marvin.Subject
---@param action string
---@param instruction string|nil
---@param done fun(text: string)
local function start(conversation, subject, action, instruction, done)
  local buf, line1, line2 = subject.buf, subject.line1, subject.line2
  local told = { action == 'fix' and subjects.problems(subject) or nil, instruction }
  local params = {
    sessionId = conversation.session.id,
    action = action,
    uri = vim.uri_from_bufnr(buf),
    range = line1 and positions.lines(buf, line1, line2) or nil,
    version = positions.version(buf),
    instruction = next(told) and table.concat(vim.tbl_values(told), '\n\n') or nil,
  }
  waiting[conversation] = { done = done, text = '' }
  client.request('oneShot', params, function(err)
    if err then
      waiting[conversation] = nil
      say.error(err.message)
    end
  end)
end

---@param action string
---@param subject marvin.Subject
---@param instruction string|nil
local function run(action, subject, instruction)
  local here = subjects.found(subject)
  if not here then
    return
  end
  local conversation = conversations.new(client.root(here.buf))
  local title = ('%s %s'):format(TITLES[action], subjects.place(here))
  conversation:begin(
    { title = title },
    say.or_error(function()
      here = subjects.found(here)
      if not here then
        return
      end
      if SAYS[action] then
        chat.show(conversation)
      else
        chat.put(conversation)
        say.note(title .. ' ...')
      end
      start(conversation, here, action, instruction, function(text)
        if not SAYS[action] then
          say.outcome(title, text, #conversation.patches > 0 and ':Marvin review' or nil)
        end
      end)
    end)
  )
end

--- Do an action on a subject. `ask` needs an instruction, and asks for it where there is none.
---@param action 'ask'|'explain'|'fix'|'test'|'document'|'refactor'
---@param subject marvin.Subject
---@param instruction string|nil
function M.run(action, subject, instruction)
  if not subjects.is_file(subject.buf) then
    return
  end
  subjects.follow(subject)
  if action == 'ask' and not instruction then
    vim.ui.input({ prompt = 'Ask about ' .. subjects.place(subject) .. ': ' }, function(question)
      if question and vim.trim(question) ~= '' then
        run(action, subject, question)
      end
    end)
    return
  end
  run(action, subject, instruction)
end

---@param subject marvin.Subject
---@param instruction string
local function edit(subject, instruction)
  local here = subjects.found(subject)
  if not here then
    return
  end
  local buf = here.buf
  local conversation = conversations.new(client.root(buf))
  local title = ('Edit %s'):format(subjects.place(here))
  conversation:begin(
    { title = title, mode = 'review' },
    say.or_error(function()
      here = subjects.found(here)
      if not here then
        return
      end
      chat.put(conversation)
      waiting[conversation] = {
        text = '',
        done = function(text)
          say.outcome(title, text)
        end,
      }
      local told = ('%s\n\nMake this change with apply_patch in %s, and no other.'):format(
        instruction,
        subjects.place(here)
      )
      local range = positions.lines(buf, here.line1 or 1, here.line2 or vim.api.nvim_buf_line_count(buf))
      local function selection()
        local uri = vim.uri_from_bufnr(buf)
        return { { type = 'selection', uri = uri, version = positions.version(buf), range = range } }
      end
      conversation:send(told, selection, 'queue', function(err)
        if err then
          waiting[conversation] = nil
          say.error(err.message)
        end
      end)
    end)
  )
end

--- Change the lines as the person says; the change is shown in place and made only when it is kept.
---@param subject marvin.Subject
---@param instruction string|nil
function M.edit(subject, instruction)
  if not subjects.is_file(subject.buf) then
    return
  end
  subjects.follow(subject)
  if instruction then
    edit(subject, instruction)
    return
  end
  vim.ui.input({ prompt = 'Change ' .. subjects.place(subject) .. ': ' }, function(given)
    if given and vim.trim(given) ~= '' then
      edit(subject, given)
    end
  end)
end

--- Put a message above what is in a commit buffer; what the person wrote stays below it.
---@param buf integer
---@param text string
local function put_message(buf, text)
  local lines = vim.split(vim.trim(text), '\n', { plain = true })
  if not vim.api.nvim_buf_is_loaded(buf) then
    vim.cmd('botright new')
    buf = vim.api.nvim_get_current_buf()
    vim.bo[buf].buftype, vim.bo[buf].filetype = 'nofile', 'gitcommit'
  end
  local is_blank = vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ''
  vim.api.nvim_buf_set_lines(buf, 0, is_blank and 1 or 0, false, lines)
end

--- Write a commit message into the commit buffer that is current, else into a buffer of its own.
---@param buf integer
function M.commit(buf)
  local is_commit = vim.bo[buf].filetype == 'gitcommit'
  local root = client.root(buf)
  local conversation = conversations.new(root)
  local uri = vim.uri_from_fname(root)
  conversation:begin(
    { title = 'Commit message' },
    say.or_error(function()
      chat.put(conversation)
      say.note('Commit message ...')
      waiting[conversation] = {
        text = '',
        done = function(text)
          put_message(is_commit and buf or -1, text)
          say.note('Commit message: written')
        end,
      }
      local params = { sessionId = conversation.session.id, action = 'commitMessage', uri = uri }
      client.request('oneShot', params, function(err)
        if err then
          waiting[conversation] = nil
          say.error(err.message)
        end
      end)
    end)
  )
end

return M
