--- The chat panel: one conversation at a time, its transcript and the input below it.
local client = require('marvin.client')
local completion = require('marvin.completion')
local config = require('marvin.config')
local context = require('marvin.context')
local conversations = require('marvin.conversations')
local history = require('marvin.history')
local input = require('marvin.input')
local panel = require('marvin.panel')
local render = require('marvin.render')
local say = require('marvin.say')
local symbols = require('marvin.symbols')
local syntax = require('marvin.syntax')
local transcript = require('marvin.transcript')
local wording = require('marvin.wording')

local M = {}

local current ---@type marvin.Conversation|nil
local shown = {} ---@type table<marvin.Conversation, marvin.Transcript>
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

--- Say something in the conversation of the panel. A text that cannot be sent comes back into the input.
---@param text string
---@param when_busy 'queue'|'steer'
function M.say(text, when_busy)
  local conversation = current
  if vim.trim(text) == '' or not conversation then
    return
  end
  local taken, named = context.take(), symbols.named(text)
  history.add(text)
  conversation:send(
    text,
    function()
      return context.wire(vim.list_extend(vim.list_slice(taken), named))
    end,
    when_busy,
    function(err)
      if err then
        say.error(err.message)
        context.put_back(taken)
        input.give_back(text)
      end
    end
  )
end

---@param when_busy 'queue'|'steer'
local function submit(when_busy)
  return function()
    local text = input.text()
    input.fill('')
    M.say(text, when_busy)
  end
end

---@param step 1|-1
local function heading(step)
  return function()
    local view = transcript.of(vim.api.nvim_get_current_buf())
    local row = view and view:heading(vim.api.nvim_win_get_cursor(0)[1] - 1, step)
    if row then
      vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
    end
  end
end

local actions = {
  send = submit('queue'),
  steer = submit('steer'),
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
  previous_heading = heading(-1),
  next_heading = heading(1),
}
input.act(actions)

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
  syntax.plain(buf)
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
  panel.open(view.buf, input.buffer())
end

--- Go to the input.
function M.focus()
  local here, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  local view = current and transcript_of(current)
  if buf ~= input.buffer() and not (view and view.buf == buf) then
    from = here
  end
  local win = input.window()
  if win then
    vim.api.nvim_set_current_win(win)
  end
end

--- Open the panel, with the conversation that was in it or a new one, and go to the input.
function M.open()
  local buf = vim.api.nvim_get_current_buf()
  M.show(current or conversations.new(client.root(buf)))
  M.focus()
  client.start()
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
  panel.close({ input.buffer(), view and view.buf })
  -- It may be in another tab page, where nobody wants to be now.
  if from and vim.list_contains(vim.api.nvim_tabpage_list_wins(0), from) then
    vim.api.nvim_set_current_win(from)
  end
end

--- Open the panel where it is closed, and close it where it is open.
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
  if current and current:work() then
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
context.watch(function()
  vim.cmd.redrawstatus({ bang = true })
end)

---@param conversation marvin.Conversation
---@param view marvin.Transcript
---@param event marvin.Event
local function draw(conversation, view, event)
  if event.type == 'loaded' then
    render.snapshot(view, conversation, event.snapshot)
    for _, item in ipairs(event.snapshot.items) do
      if item.kind == 'message' and item.message.role == 'user' then
        local typed = wording.typed(item.message)
        if not wording.told(typed) then
          history.add(typed)
        end
      end
    end
  else
    if event.type == 'turn.started' then
      syntax.plain(view.buf)
    end
    render.event(view, conversation, event)
  end
  if not conversation.turn and (event.type == 'loaded' or event.type == 'turn.finished') then
    syntax.rich(view.buf)
  end
end

conversations.listen(function(conversation, event)
  local view = transcript_of(conversation)
  if view then
    draw(conversation, view, event)
  end
end)

vim.api.nvim_create_autocmd('VimResized', {
  group = vim.api.nvim_create_augroup('marvin.chat', {}),
  callback = function()
    local view = current and transcript_of(current)
    if view then
      panel.resize(view.buf)
    end
  end,
})

return M
