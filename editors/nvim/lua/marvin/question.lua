--- The card of a permission question: it never takes the focus, shows all that an answer covers, and stays until the
--- question is answered, here or elsewhere.
local client = require('marvin.client')
local config = require('marvin.config')
local conversations = require('marvin.conversations')
local panel = require('marvin.panel')
local say = require('marvin.say')

local M = {}

local space = vim.api.nvim_create_namespace('marvin.question')
local WORDS = {
  allowOnce = 'allow once',
  allowSession = 'allow for this session',
  allowEdited = 'edit, then allow',
  deny = 'deny',
  denyWithNote = 'deny, and say why',
  denyAndStop = 'deny and stop the turn',
}
local ORDER = { 'allowOnce', 'allowSession', 'allowEdited', 'deny', 'denyWithNote', 'denyAndStop' }

local card ---@type integer|nil the buffer
local window ---@type integer|nil
local shown ---@type table|nil the question on the card
local was_seen = false
local since = 0 -- when the question came onto the card, in ms
-- A key that was meant for the question before must not answer the next one.
local SETTLES_MS = 400
local lines_of = {} ---@type table<integer, string> the answer of each line that stands for one

--- All open questions, and whose they are.
---@return {permission: table, conversation: marvin.Conversation}[]
function M.open()
  local found = {}
  for _, conversation in ipairs(conversations.all()) do
    for _, permission in ipairs(conversation.permissions) do
      found[#found + 1] = { permission = permission, conversation = conversation }
    end
  end
  table.sort(found, function(one, other)
    return one.permission.id < other.permission.id
  end)
  return found
end

--- A line of its own for a short text, an indented block for one of several lines.
---@param lines string[]
---@param title string
---@param text string
local function section(lines, title, text)
  local parts = vim.split(text:gsub('\n$', ''), '\n', { plain = true })
  if #parts == 1 then
    lines[#lines + 1] = ('%-9s %s'):format(title .. ':', parts[1])
    return
  end
  lines[#lines + 1] = title .. ':'
  for _, part in ipairs(parts) do
    lines[#lines + 1] = '    ' .. part
  end
end

--- Whether a question takes an answer.
---@param permission table
---@param answer string
local function takes(permission, answer)
  return vim.list_contains(permission.options, answer == 'denyWithNote' and 'deny' or answer)
end

---@param answer string
---@return string
local function key_of(answer)
  local keys = {}
  for lhs, name in pairs(config.options.keys.question) do
    if name == answer then
      keys[#keys + 1] = lhs
    end
  end
  table.sort(keys)
  return keys[1] or '-'
end

---@param permission table
---@param conversation marvin.Conversation
---@param number integer of questions
---@return string[] lines
local function text_of(permission, conversation, number)
  local more = number > 1 and (' (%d more wait)'):format(number - 1) or ''
  local lines = { ('Marvin asks%s - %s'):format(more, conversation:title()) }
  local command = permission.command
  section(lines, command and 'Run' or 'Do', command and command.display or permission.title)
  if command then
    section(lines, 'In', command.cwd)
    section(lines, 'With', ('%s; sandbox: %s'):format(command.shell, command.sandbox))
    local names = vim.tbl_keys(command.envChanges)
    table.sort(names)
    for _, name in ipairs(names) do
      section(lines, 'Variable', ('%s=%s'):format(name, command.envChanges[name]))
    end
    for _, script in ipairs(command.scripts) do
      section(lines, ('Script %s'):format(script.path), script.text)
    end
  end
  section(lines, 'Because', permission.decidedBy)
  if permission.reason ~= '' then
    section(lines, 'That is', permission.reason)
  end
  if permission.diff then
    section(lines, 'Change', permission.diff)
  end
  lines[#lines + 1] = ''
  lines_of = {}
  for _, answer in ipairs(ORDER) do
    if takes(permission, answer) then
      lines[#lines + 1] = ('  %-3s %s'):format(key_of(answer), WORDS[answer])
      lines_of[#lines] = answer
    end
  end
  return lines
end

--- Remember when the last line has been on the screen: nobody allows what could not be read.
local function look()
  if window and vim.api.nvim_win_is_valid(window) and not was_seen then
    was_seen = vim.fn.line('w$', window) >= vim.api.nvim_buf_line_count(card)
  end
end

local function close()
  if window and vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_win_close(window, true)
  end
  window = nil
end

---@param decision string
---@param more table|nil
local function answer(decision, more)
  local permission = shown
  if not permission then
    say.note('no question is open')
    return
  end
  local params = vim.tbl_extend('force', { permissionId = permission.id, decision = decision }, more or {})
  client.request(
    'permission/answer',
    params,
    say.or_error(function(result)
      if not result.accepted then
        say.note('that question was already settled')
      end
    end)
  )
end

--- Let the person change the command in a window; writing it allows what is written.
local function edit()
  local permission = shown
  if not (permission and permission.command) then
    return
  end
  vim.cmd('botright 5split')
  local buf = panel.buffer('command ' .. permission.id, 'sh')
  vim.bo[buf].buftype = 'acwrite'
  vim.bo[buf].bufhidden = 'wipe'
  vim.api.nvim_win_set_buf(0, buf)
  vim.wo.winbar = 'Edit the command; :w runs it, :q! goes back to the question'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(permission.command.display, '\n', { plain = true }))
  vim.bo[buf].modified = false
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buf,
    callback = function()
      local command = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
      vim.bo[buf].modified = false
      if not (shown and shown.id == permission.id) then
        say.warn('that question was already settled; nothing was run')
      else
        answer('allowEdited', { command = command })
      end
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(buf) then
          vim.api.nvim_buf_delete(buf, { force = true })
        end
      end)
    end,
  })
end

--- Answer the question on the card.
---@param decision string
function M.answer(decision)
  if not shown then
    say.note('no question is open')
  elseif not takes(shown, decision) then
    say.warn(('this question does not take that answer: %s'):format(WORDS[decision] or decision))
  elseif decision:match('^allow') and not (was_seen and vim.uv.now() - since > SETTLES_MS) then
    M.show()
    look()
    if was_seen then
      say.note('the question has only just come: read it, and answer again')
    else
      say.warn('the question goes on below: read it to its end first (G in the card), then answer')
    end
  elseif decision == 'allowEdited' then
    edit()
  elseif decision == 'denyWithNote' then
    vim.ui.input({ prompt = 'What shall Marvin know? ' }, function(note)
      if note then
        answer('deny', { note = note })
      end
    end)
  else
    answer(decision)
  end
end

local function choose()
  local decision = lines_of[vim.api.nvim_win_get_cursor(0)[1]]
  if decision then
    M.answer(decision)
  end
end

local function leave()
  vim.cmd.wincmd('p')
end

---@return integer
local function buffer()
  if card and vim.api.nvim_buf_is_valid(card) then
    return card
  end
  card = panel.buffer('question', 'marvin-question')
  vim.bo[card].modifiable = false
  local actions = { choose = choose, leave = leave }
  for _, name in ipairs(ORDER) do
    actions[name] = function()
      M.answer(name)
    end
  end
  actions.click = function()
    local mouse = vim.fn.getmousepos()
    if mouse.winid == window and lines_of[mouse.line] then
      M.answer(lines_of[mouse.line])
    end
  end
  panel.map(card, config.options.keys.question, actions)
  vim.api.nvim_create_autocmd({ 'WinScrolled', 'CursorMoved' }, {
    group = vim.api.nvim_create_augroup('marvin.question', {}),
    callback = look,
  })
  return card
end

--- How high the card must be, at this width, for all of it.
---@param lines string[]
---@param width integer
local function height_of(lines, width)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return height
end

--- Put the card where the screen has room, or bring it up to date.
function M.show()
  local questions = M.open()
  local first = questions[1]
  if not first then
    shown = nil
    close()
    return
  end
  local is_another = not shown or shown.id ~= first.permission.id
  if is_another then
    was_seen, since = false, vim.uv.now()
  end
  shown = first.permission
  local buf = buffer()
  local lines = text_of(first.permission, first.conversation, #questions)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
  vim.api.nvim_buf_set_extmark(buf, space, 0, 0, { line_hl_group = 'MarvinQuestion' })
  local width = math.max(20, math.min(78, vim.o.columns - 4))
  local height = math.max(3, math.min(height_of(lines, width), vim.o.lines - vim.o.cmdheight - 4))
  local layout = {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = width,
    height = height,
    border = 'rounded',
    title = ' Marvin: question ',
    zindex = 60,
  }
  if window and vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_win_set_config(window, layout)
  else
    layout.style, layout.noautocmd = 'minimal', true
    window = vim.api.nvim_open_win(buf, false, layout)
    vim.api.nvim_set_option_value('wrap', true, { win = window, scope = 'local' })
  end
  if is_another then
    vim.api.nvim_win_set_cursor(window, { 1, 0 })
  end
  vim.schedule(look)
end

--- Show the card, and go to it.
function M.focus()
  M.show()
  if shown and window then
    vim.api.nvim_set_current_win(window)
  else
    say.note('no question is open')
  end
end

conversations.listen(function(_, event)
  if event.type == 'permission.requested' then
    say.warn('a question waits: ' .. event.permission.title)
    M.show()
  elseif event.type == 'permission.resolved' or event.type == 'loaded' or event.type == 'lost' then
    if shown or #M.open() > 0 then
      M.show()
    end
  end
end)

vim.api.nvim_create_autocmd({ 'VimResized', 'TabEnter' }, {
  group = vim.api.nvim_create_augroup('marvin.question.place', {}),
  callback = function()
    if shown then
      close()
      M.show()
    end
  end,
})

return M
