--- The card that a permission question is on: what it says, and the window, which never takes the focus and lies where
--- the screen has room.
local config = require('marvin.config')
local panel = require('marvin.panel')

local M = {}

local space = vim.api.nvim_create_namespace('marvin.card')
local MOST, LEAST = 78, 20
-- Nothing of a question is hidden.
local WINDOW = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'list:-1',
  showbreak = '',
  smoothscroll = true,
  scrolloff = 0,
  foldenable = false,
  foldmethod = 'manual',
  conceallevel = 0,
  diff = false,
  winblend = 0,
  winfixbuf = true,
}
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
local seen = {} ---@type table<integer, boolean> rows that have been on the screen
local rows, columns = 0, 0 -- that all of it takes
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
  if permission.saved then
    section(card, 'Saved', table.concat(permission.saved, ', ') .. ', with what Marvin changed')
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
      local key = config.key_of(config.options.keys.question, answer[1])
      lines[#lines + 1] = ('  %-3s %s'):format(key, answer[2])
      card.answers[#lines], card.names[#lines] = answer[1], 2 + #key
    end
  end
  return card
end

---@return boolean
function M.is_open()
  return window ~= nil and vim.api.nvim_win_is_valid(window)
end

--- Give the window its options, whatever a person's own configuration says.
local function dress()
  for name, value in pairs(WINDOW) do
    if vim.api.nvim_get_option_value(name, { win = window }) ~= value then
      vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
    end
  end
end

--- The rows of the screen that are on it now, from 0.
---@return integer first
---@return integer last
local function on_screen()
  local view = vim.api.nvim_win_call(window, vim.fn.winsaveview)
  local above = view.topline > 1 and vim.api.nvim_win_text_height(window, { end_row = view.topline - 2 }).all or 0
  local skipped = math.floor(view.skipcol / vim.api.nvim_win_get_width(window))
  local first = above + skipped
  -- Neovim writes over the beginning of a line that begins further up.
  return skipped > 0 and first + 1 or first, first + vim.api.nvim_win_get_height(window) - 1
end

--- Remember what has been on the screen: nobody allows what could not be read.
function M.look()
  if M.is_open() then
    dress()
    local first, last = on_screen()
    for row = first, last do
      seen[row] = true
    end
  end
end

---@return boolean whether all of what is on it has been on the screen
function M.was_seen()
  for row = 0, rows - 1 do
    if not seen[row] then
      return false
    end
  end
  return rows > 0
end

--- Show what is below, up to the last row.
function M.scroll()
  local _, last = on_screen()
  local count = math.min(vim.api.nvim_win_get_height(window) - 1, rows - 1 - last)
  if count > 0 then
    vim.api.nvim_win_call(window, function()
      vim.cmd(('normal! %d\5'):format(count))
    end)
  end
  M.look()
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
  local is_as_before = vim.deep_equal(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), text.lines)
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
  end
  dress()
  local height = vim.api.nvim_win_text_height(window, {}).all
  local place = layout(height)
  vim.api.nvim_win_set_config(window, place)
  if is_another or not is_as_before or height ~= rows or place.width ~= columns then
    seen, rows, columns = {}, height, place.width
  end
  if is_another then
    vim.api.nvim_win_set_cursor(window, { 1, 0 })
  end
  vim.schedule(M.look)
end

return M
