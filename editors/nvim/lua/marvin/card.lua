--- The card that a permission question is on: what it says, and the window, which never takes the focus and lies where
--- the screen has room.
local config = require('marvin.config')
local panel = require('marvin.panel')

local M = {}

local space = vim.api.nvim_create_namespace('marvin.card')
local MOST, LEAST = 78, 20
--- The answers, in the order of the card.
M.ANSWERS = {
  { 'allowOnce', 'allow once' },
  { 'allowSession', 'allow for this session' },
  { 'allowEdited', 'edit, then allow' },
  { 'deny', 'deny' },
  { 'denyWithNote', 'deny, and say why' },
  { 'denyAndStop', 'deny and stop the turn' },
}
-- What an answer's or a field's name takes, so that what wraps stands below what it belongs to.
local HANGING = [[^\(\u\l*\( \l\+\)\=: \+\|  \S\+ \+\)]]

local buffer ---@type integer|nil
local window ---@type integer|nil
local was_seen = false
local answer_of = {} ---@type table<integer, string> the answer of each line that stands for one

---@class marvin.CardText
---@field lines string[]
---@field answers table<integer, string> by line
---@field names table<integer, integer> how long the name of a line's field or key is, in bytes

--- A line of its own for a short text, an indented block for one of several lines.
---@param card marvin.CardText
---@param title string
---@param text string
local function section(card, title, text)
  local parts = vim.split(text:gsub('\n$', ''), '\n', { plain = true })
  local lines = card.lines
  lines[#lines + 1] = #parts == 1 and ('%-9s %s'):format(title .. ':', parts[1]) or title .. ':'
  card.names[#lines] = #title + 1
  for _, part in ipairs(#parts > 1 and parts or {}) do
    lines[#lines + 1] = '    ' .. part
  end
end

--- Whether a question takes an answer.
---@param permission table
---@param answer string
---@return boolean
function M.takes(permission, answer)
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
---@param title string
---@return marvin.CardText
local function text_of(permission, title)
  local card = { lines = { title }, answers = {}, names = {} } ---@type marvin.CardText
  local lines, command = card.lines, permission.command
  section(card, command and 'Run' or 'Do', command and (command.revealed or command.display) or permission.title)
  if command then
    section(card, 'In', command.cwd)
    section(card, 'With', ('%s; sandbox: %s'):format(command.shell, command.sandbox))
    local names = vim.tbl_keys(command.envChanges)
    table.sort(names)
    for _, name in ipairs(names) do
      section(card, 'Variable', ('%s=%s'):format(name, command.envChanges[name]))
    end
    for _, script in ipairs(command.scripts) do
      section(card, ('Script %s'):format(script.path), script.text)
    end
  end
  section(card, 'Because', permission.decidedBy)
  if permission.reason ~= '' then
    section(card, 'That is', permission.reason)
  end
  if permission.diff then
    section(card, 'Change', permission.diff)
  end
  lines[#lines + 1] = ''
  for _, answer in ipairs(M.ANSWERS) do
    if M.takes(permission, answer[1]) then
      local key = key_of(answer[1])
      lines[#lines + 1] = ('  %-3s %s'):format(key, answer[2])
      card.answers[#lines], card.names[#lines] = answer[1], 2 + #key
    end
  end
  return card
end

--- Remember when the last line has been on the screen: nobody allows what could not be read.
function M.look()
  if M.is_open() and not was_seen then
    was_seen = vim.fn.line('w$', window) >= vim.api.nvim_buf_line_count(buffer)
  end
end

---@return boolean whether all of what is on it has been on the screen
function M.was_seen()
  return was_seen
end

---@return boolean
function M.is_open()
  return window ~= nil and vim.api.nvim_win_is_valid(window)
end

--- Take the card off the screen.
function M.close()
  if M.is_open() then
    vim.api.nvim_win_close(window, true)
  end
  window = nil
end

--- Go to the card.
function M.focus()
  if M.is_open() then
    vim.api.nvim_set_current_win(window)
  end
end

--- The answer of the line at the cursor, or of a line that was clicked on.
---@param is_click boolean
---@return string|nil
function M.answer_at(is_click)
  if not is_click then
    return answer_of[vim.api.nvim_win_get_cursor(0)[1]]
  end
  local mouse = vim.fn.getmousepos()
  return mouse.winid == window and answer_of[mouse.line] or nil
end

--- The buffer; it is made where there is none.
---@param actions table<string, fun()>
function M.prepare(actions)
  if buffer and vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  buffer = panel.buffer('question', 'marvin-question')
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].formatlistpat = HANGING
  panel.map(buffer, config.options.keys.question, actions)
end

---@param height integer
---@return vim.api.keyset.win_config
local function layout(height)
  local width = math.max(LEAST, math.min(MOST, vim.o.columns - 4))
  return {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = width,
    height = math.max(3, math.min(height, vim.o.lines - vim.o.cmdheight - 4)),
    border = 'rounded',
    title = ' Question ',
    zindex = 60,
  }
end

--- Show a question, or bring it up to date.
---@param permission table
---@param title string
---@param is_another boolean it is not the one that was on the card
function M.show(permission, title, is_another)
  local text = text_of(permission, title)
  answer_of = text.answers
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, text.lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_set_extmark(buffer, space, 0, 0, { line_hl_group = 'MarvinQuestion' })
  for line, length in pairs(text.names) do
    local group = text.answers[line] and 'MarvinKey' or 'MarvinField'
    vim.api.nvim_buf_set_extmark(buffer, space, line - 1, 0, { end_col = length, hl_group = group })
  end
  if not M.is_open() then
    local first = vim.tbl_extend('error', layout(#text.lines), { style = 'minimal', noautocmd = true })
    window = vim.api.nvim_open_win(buffer, false, first)
    for name, value in pairs({ wrap = true, linebreak = true, breakindent = true, breakindentopt = 'list:-1' }) do
      vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
    end
  end
  vim.api.nvim_win_set_config(window, layout(vim.api.nvim_win_text_height(window, {}).all))
  if is_another then
    was_seen = false
    vim.api.nvim_win_set_cursor(window, { 1, 0 })
  end
  vim.schedule(M.look)
end

return M
