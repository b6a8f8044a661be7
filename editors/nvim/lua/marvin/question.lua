--- Permission questions: which are open, and the person's answer to the one on the card. It stays until it is answered,
--- here or elsewhere.
local amend = require('marvin.amend')
local card = require('marvin.card')
local client = require('marvin.client')
local config = require('marvin.config')
local conversations = require('marvin.conversations')
local documents = require('marvin.documents')
local say = require('marvin.say')

local M = {}

local shown ---@type table|nil the question on the card
local since = 0 -- when the question came onto the card, in ms
-- A key that was meant for the question before must not answer the next one.
local SETTLES_MS = 400

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

---@param decision string
---@param more table|nil
local function answer(decision, more)
  local permission = assert(shown)
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

--- Run the command as the person has changed it.
local function run_amended()
  local command = amend.text()
  if not (shown and amend.is_open(shown.id)) then
    say.warn('that question was already settled; nothing was run')
  elseif vim.trim(command) == '' then
    say.warn('there is no command; :Marvin deny answers with no')
  else
    answer('allowEdited', { command = command })
    amend.close()
  end
end

local function edit()
  amend.open(assert(shown), {
    run = run_amended,
    back = function()
      amend.close()
      M.focus()
    end,
  }, function()
    M.show()
  end)
  card.close()
end

---@param decision string
---@return string
local function in_words(decision)
  for _, each in ipairs(card.ANSWERS) do
    if each[1] == decision then
      return each[2]
    end
  end
  return decision
end

--- Answer the question on the card.
---@param decision string
function M.answer(decision)
  if not shown then
    say.note('no question is open')
  elseif not card.takes(shown, decision) then
    say.warn(('this question does not take that answer: %s'):format(in_words(decision)))
  elseif decision:match('^allow') and amend.is_open(shown.id) then
    if amend.is_current() then
      run_amended()
    else
      amend.focus()
      say.note('the command is being changed here: allow it here, or go back')
    end
  elseif decision:match('^allow') and not (card.was_seen() and vim.uv.now() - since > SETTLES_MS) then
    M.show()
    card.look()
    if card.was_seen() then
      say.note('the question has only just come: read it, and answer again')
    else
      local key = config.key_of(config.options.keys.question, 'scroll')
      say.warn(('read the question to its end first: %s on it'):format(key))
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

local actions = {
  scroll = card.scroll,
  leave = function()
    vim.cmd.wincmd('p')
  end,
  choose = function()
    local decision = card.answer_at(false)
    if decision then
      M.answer(decision)
    end
  end,
  click = function()
    local decision = card.answer_at(true)
    if decision then
      M.answer(decision)
    else
      vim.cmd.stopinsert()
    end
  end,
}
for _, each in ipairs(card.ANSWERS) do
  actions[each[1]] = function()
    M.answer(each[1])
  end
end

--- Put the oldest question on the card, or bring it up to date; without one the card goes. While a command is changed
--- its question is the one, and the card does not cover it.
function M.show()
  -- No window can be closed from there.
  if vim.fn.getcmdwintype() ~= '' then
    return
  end
  local questions = M.open()
  local first = questions[1]
  for _, each in ipairs(questions) do
    first = amend.is_open(each.permission.id) and each or first
  end
  if not first then
    shown = nil
    card.close()
    return
  end
  local is_another = not shown or shown.id ~= first.permission.id
  if is_another then
    since = vim.uv.now()
  end
  shown = first.permission
  if amend.is_open(shown.id) then
    card.close()
    return
  end
  card.prepare(actions)
  local more = #questions > 1 and (' (%d more wait)'):format(#questions - 1) or ''
  card.show(shown, ('Marvin asks%s: %s'):format(more, first.conversation:title()), is_another)
end

--- Show the card, and go to it.
function M.focus()
  M.show()
  if shown and amend.is_open(shown.id) then
    amend.focus()
  elseif shown then
    card.focus()
  else
    say.note('no question is open')
  end
end

conversations.listen(function(_, event)
  if event.type == 'tool.started' then
    documents.saved_first()
  elseif event.type == 'permission.requested' then
    local saved = documents.saved_first()
    event.permission.saved = #saved > 0 and saved or nil
    say.warn('a question waits (:Marvin question)')
    M.show()
  elseif event.type == 'permission.resolved' or event.type == 'loaded' or event.type == 'lost' then
    if shown or #M.open() > 0 then
      M.show()
    end
  end
end)

local group = vim.api.nvim_create_augroup('marvin.question', {})
vim.api.nvim_create_autocmd({ 'WinScrolled', 'CursorMoved' }, { group = group, callback = card.look })
vim.api.nvim_create_autocmd('CmdwinLeave', {
  group = group,
  callback = vim.schedule_wrap(function()
    if shown or #M.open() > 0 then
      M.show()
    end
  end),
})
vim.api.nvim_create_autocmd({ 'VimResized', 'TabEnter' }, {
  group = group,
  callback = function()
    if shown then
      card.close()
      M.show()
    end
  end,
})

return M
