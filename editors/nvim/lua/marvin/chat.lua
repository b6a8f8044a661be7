--- The chat panel: one conversation at a time, its transcript and the input below it.
local client = require('marvin.client')
local completion = require('marvin.completion')
local config = require('marvin.config')
local context = require('marvin.context')
local conversations = require('marvin.conversations')
local history = require('marvin.history')
local panel = require('marvin.panel')
local render = require('marvin.render')
local say = require('marvin.say')
local transcript = require('marvin.transcript')

local M = {}

local current ---@type marvin.Conversation|nil
local shown = {} ---@type table<marvin.Conversation, marvin.Transcript>
local input ---@type integer|nil
local from ---@type integer|nil the window that the person came from
local count = 0

--- The conversation of the panel; there is one when it was opened once.
---@return marvin.Conversation|nil
function M.current()
  return current
end

---@param conversation marvin.Conversation
---@return marvin.Transcript|nil
local function transcript_of(conversation)
  local found = shown[conversation]
  return found and vim.api.nvim_buf_is_valid(found.buf) and found or nil
end

--- The text of the transcript's window bar and of the input's.
local function label()
  if not current then
    return
  end
  local view = transcript_of(current)
  local win = view and panel.window(view.buf)
  local function bar(window, text)
    -- A per cent sign begins an item of the bar.
    vim.api.nvim_set_option_value('winbar', (text:gsub('%%', '%%%%')), { win = window, scope = 'local' })
  end
  if win then
    bar(win, current:title())
  end
  local below = panel.window(input)
  if below then
    local parts = { require('marvin.status').line(current) }
    local added = context.labels()
    if #added > 0 then
      parts[#parts + 1] = 'with ' .. table.concat(added, ', ')
    end
    bar(below, table.concat(parts, ' | '))
  end
end

M.relabel = label

--- Give the input another text.
---@param text string
function M.fill(text)
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(M.input(), 0, -1, false, lines)
  local win = panel.window(input)
  if win then
    vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
  end
end

---@return string
local function typed()
  return table.concat(vim.api.nvim_buf_get_lines(M.input(), 0, -1, false), '\n')
end

--- Say something in the conversation of the panel. A text that cannot be sent comes back into the input.
---@param text string
---@param when_busy 'queue'|'steer'
function M.say(text, when_busy)
  local conversation = current
  if vim.trim(text) == '' or not conversation then
    return
  end
  local taken = context.take()
  history.add(text)
  conversation:send(
    text,
    function()
      return context.wire(taken)
    end,
    when_busy,
    function(err)
      if err then
        say.error(err.message)
        context.put_back(taken)
        local later = typed()
        M.fill(later == '' and text or text .. '\n' .. later)
      end
    end
  )
end

---@param when_busy 'queue'|'steer'
local function submit(when_busy)
  return function()
    local text = typed()
    M.fill('')
    M.say(text, when_busy)
  end
end

local function step(by)
  return function()
    M.fill(history.step(by, typed()))
  end
end

local actions = {
  send = submit('queue'),
  steer = submit('steer'),
  earlier = step(-1),
  later = step(1),
  cancel = function()
    M.cancel()
  end,
  close = function()
    M.close()
  end,
  input = function()
    M.focus()
    vim.cmd.startinsert({ bang = true })
  end,
  help = function()
    vim.cmd.help('marvin-keys')
  end,
  follow = function()
    require('marvin.follow').line()
  end,
  previous_heading = function()
    vim.fn.search([[^## \(You\|Marvin\)$]], 'bW')
  end,
  next_heading = function()
    vim.fn.search([[^## \(You\|Marvin\)$]], 'W')
  end,
}

--- The buffer of the input.
---@return integer
function M.input()
  if input and vim.api.nvim_buf_is_valid(input) then
    return input
  end
  input = panel.buffer('input', 'marvin-input')
  vim.bo[input].omnifunc = "v:lua.require'marvin.completion'.omnifunc"
  panel.map(input, config.options.keys.input, actions)
  vim.api.nvim_create_autocmd('TextChangedI', { buffer = input, callback = completion.prefetch })
  return input
end

---@param conversation marvin.Conversation
---@return marvin.Transcript
local function view_of(conversation)
  local found = transcript_of(conversation)
  if found then
    return found
  end
  count = count + 1
  local buf = panel.buffer('chat/' .. count, 'marvin')
  vim.bo[buf].modifiable = false
  vim.bo[buf].undolevels = -1
  -- Not treesitter: it parses all of the buffer again and again while an answer streams in, for up to 70 ms each time.
  vim.bo[buf].syntax = 'markdown'
  panel.map(buf, config.options.keys.chat, actions)
  found = transcript.new(buf)
  shown[conversation] = found
  if conversation.session then
    conversation:load()
  end
  return found
end

--- Make a conversation that of the panel; the panel stays closed when it is.
---@param conversation marvin.Conversation
function M.put(conversation)
  local before = current and transcript_of(current)
  if before and panel.window(before.buf) then
    M.show(conversation)
  else
    current = conversation
  end
end

--- Show a conversation in the panel, wherever that is or was.
---@param conversation marvin.Conversation
function M.show(conversation)
  local before = current and transcript_of(current)
  current = conversation
  local view = view_of(conversation)
  if before and before ~= view then
    panel.swap(before.buf, view.buf)
  end
  panel.open(view.buf, M.input())
  label()
end

--- Go to the input.
function M.focus()
  local here = vim.api.nvim_get_current_win()
  local view = current and transcript_of(current)
  if vim.api.nvim_get_current_buf() ~= input and not (view and view.buf == vim.api.nvim_get_current_buf()) then
    from = here
  end
  local win = panel.window(input)
  if win then
    vim.api.nvim_set_current_win(win)
  end
end

--- Open the panel, with the conversation that was in it or a new one, and go to the input.
function M.open()
  local buf = vim.api.nvim_get_current_buf()
  M.show(current or conversations.new(client.root(buf)))
  M.focus()
end

--- Begin another conversation, in the project of the buffer.
function M.new()
  local buf = vim.api.nvim_get_current_buf()
  local root = vim.bo[buf].buftype == '' and client.root(buf) or (current and current.cwd or client.root())
  M.show(conversations.new(root))
  M.focus()
end

--- Close the windows. The turn goes on, and what was typed stays.
function M.close()
  local view = current and transcript_of(current)
  panel.close({ input, view and view.buf })
  if from and vim.api.nvim_win_is_valid(from) then
    vim.api.nvim_set_current_win(from)
  end
end

function M.toggle()
  local view = current and transcript_of(current)
  if view and panel.window(view.buf) then
    M.close()
  else
    M.open()
  end
end

--- End what runs in the conversation of the panel.
function M.cancel()
  if current and current.turn then
    current:cancel()
  else
    say.note('nothing is running')
  end
end

--- The conversation of the panel, when it has a session; else a word about it.
---@return marvin.Conversation|nil
function M.begun()
  if current and current.session then
    return current
  end
  say.note('there is no conversation yet; :Marvin opens one')
end

completion.of_session(function()
  return current and current.session and current.session.id
end)
context.watch(label)
conversations.listen(function(conversation, event)
  local view = transcript_of(conversation)
  if view and event.type == 'loaded' then
    render.snapshot(view, conversation, event.snapshot)
    for _, item in ipairs(event.snapshot.items) do
      if item.kind == 'message' and item.message.role == 'user' then
        history.add(render.said(item.message.parts, 'text'))
      end
    end
  elseif view then
    render.event(view, event)
  end
  if conversation == current and not event.type:match('delta$') and event.type ~= 'tool.output' then
    label()
  end
end)

return M
