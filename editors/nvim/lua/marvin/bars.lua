--- The lines above and below the panel's windows: what conversation it is, how it stands, what the keys do. Neovim asks
--- for them whenever it draws, with the window that is drawn as the current one.
local config = require('marvin.config')
local context = require('marvin.context')
local fitting = require('marvin.fitting')
local status = require('marvin.status')

local M = {}

local LEAST_TITLE = 16

--- One text at the left end, one at the right.
---@param left string
---@param right string
---@param least integer columns of the left one that the right one may not take
---@return string
local function spread(left, right, least)
  local width = vim.api.nvim_win_get_width(0) - 2
  right = fitting.cut(right, math.max(0, width - least - 2))
  left = fitting.cut(left, width - (right == '' and 0 or vim.fn.strdisplaywidth(right) + 2))
  local gap = width - vim.fn.strdisplaywidth(left) - vim.fn.strdisplaywidth(right)
  return left .. (' '):rep(gap) .. right
end

---@return marvin.Conversation|nil
local function current()
  return require('marvin.chat').current()
end

--- Above the transcript: the title; at the right model, mode, context, cost. The model goes where there is no room,
--- then the context.
---@return string
function M.conversation()
  local conversation = current()
  if not conversation then
    return ''
  end
  local about = status.about(conversation)
  for _, index in ipairs({ 1, 2 }) do
    local taken = vim.fn.strdisplaywidth(table.concat(about, ', '))
    if #about > 1 and taken + LEAST_TITLE > vim.api.nvim_win_get_width(0) then
      table.remove(about, index)
    end
  end
  return spread('Marvin: ' .. conversation:title(), table.concat(about, ', '), LEAST_TITLE - 4)
end

--- Above the input: what waits and what is at work; at the right what goes along with the prompt.
---@return string
function M.state()
  local added = context.labels()
  local state = table.concat(status.state(current()), ', '):gsub('^%l', string.upper)
  local along = #added > 0 and 'with ' .. table.concat(added, ', ') or ''
  return spread(state, along, vim.fn.strdisplaywidth(state))
end

--- The key of an action that holds in the mode of the editor; in normal mode rather one without a modifier.
---@param keys marvin.Keys
---@param action string
---@return string|nil
local function key_of(keys, action)
  local is_insert = vim.fn.mode():match('^i') ~= nil
  local bare, modified
  for lhs, name in vim.spairs(keys) do
    if name == action and lhs:match('^<[CM]%-') then
      modified = modified or lhs
    elseif name == action and not is_insert then
      bare = bare or lhs
    end
  end
  return bare or modified
end

--- The keys of these actions, as many as there is room for.
---@param keys marvin.Keys
---@param actions {[1]: string, [2]: string}[] an action and what it is called
---@return string
local function hint(keys, actions)
  local text = ''
  for _, action in ipairs(actions) do
    local key = key_of(keys, action[1])
    local longer = key and ('%s%s%s %s'):format(text, text == '' and '' or ', ', key, action[2])
    if longer and vim.fn.strdisplaywidth(longer) < vim.api.nvim_win_get_width(0) then
      text = longer
    end
  end
  return text
end

--- Below the transcript.
---@return string
function M.transcript_keys()
  return hint(config.options.keys.chat, {
    { 'input', 'write' },
    { 'help', 'keys' },
    { 'follow', 'open' },
    { 'close', 'close' },
  })
end

--- Below the input, for the mode that the editor is in.
---@return string
function M.input_keys()
  local conversation = current()
  local running = conversation and conversation:work()
  return hint(config.options.keys.input, {
    { 'send', running and 'queue' or 'send' },
    running and { 'cancel', 'cancel' } or { 'earlier', 'earlier' },
    { 'help', 'keys' },
    running and { 'steer', 'steer' } or { 'close', 'close' },
  })
end

---@param name string of a function here
---@return string for 'winbar' and 'statusline'; what it gives is shown as it is
function M.item(name)
  return (" %%{v:lua.require'marvin.bars'.%s()}"):format(name)
end

return M
