--- The options of `setup()`: their defaults, and the check of what a person gave.
local M = {}

---@class marvin.Config
---@field cmd string[] the server; a full path where the editor lacks the shell's PATH
---@field env table<string, string> variables for the server, beside the editor's own
---@field root_markers string[] what the folder of a project has in it
---@field panel marvin.PanelConfig
---@field keys marvin.KeysConfig keys of Marvin's own buffers; `false` takes one away

---@class marvin.PanelConfig
---@field position 'right'|'left'|'bottom'
---@field width integer columns, at the right and the left
---@field height integer lines, at the bottom
---@field input_height integer lines

---@alias marvin.Keys table<string, string|false> an action for each key; <C-…> and <M-…> hold in insert mode too
---@class marvin.KeysConfig
---@field chat marvin.Keys
---@field input marvin.Keys
---@field question marvin.Keys
---@field command marvin.Keys of the window in which the command of a question is changed

---@type marvin.Config
local defaults = {
  cmd = { 'marvin', 'lsp' },
  env = {},
  root_markers = { '.git' },
  panel = { position = 'right', width = 80, height = 20, input_height = 6 },
  keys = {
    chat = {
      i = 'input',
      q = 'close',
      ['<C-c>'] = 'cancel',
      ['<CR>'] = 'follow',
      ['[['] = 'previous_heading',
      [']]'] = 'next_heading',
      ['g?'] = 'help',
    },
    input = {
      ['<CR>'] = 'send',
      ['<C-s>'] = 'send',
      ['<M-s>'] = 'steer',
      ['<C-c>'] = 'cancel',
      ['<M-p>'] = 'earlier',
      ['<M-n>'] = 'later',
      ['q'] = 'close',
      ['g?'] = 'help',
    },
    question = {
      a = 'allowOnce',
      s = 'allowSession',
      e = 'allowEdited',
      d = 'deny',
      n = 'denyWithNote',
      x = 'denyAndStop',
      q = 'leave',
      ['<Space>'] = 'scroll',
      ['<CR>'] = 'choose',
      ['<LeftRelease>'] = 'click',
    },
    command = { ['<C-s>'] = 'run', q = 'back' },
  },
}

---@type marvin.Config
M.options = vim.deepcopy(defaults)

--- Whether the keys of a table are free to be chosen.
local FREE = { env = true, chat = true, input = true, question = true, command = true }
local CHOICES = { ['panel.position'] = { right = true, left = true, bottom = true } }

---@param name string
---@param given any
---@param default any
---@param problems string[]
---@return any
local function checked(name, given, default, problems)
  if type(given) ~= type(default) then
    problems[#problems + 1] = ('%s: expected a %s, got %s'):format(name, type(default), vim.inspect(given))
    return default
  end
  if CHOICES[name] and not CHOICES[name][given] then
    local known = vim.tbl_keys(CHOICES[name])
    table.sort(known)
    problems[#problems + 1] = ('%s: %q is none of %s'):format(name, given, table.concat(known, ', '))
    return default
  end
  if type(default) == 'number' and (given < 1 or given % 1 ~= 0) then
    problems[#problems + 1] = ('%s: expected a whole number above 0, got %s'):format(name, given)
    return default
  end
  if type(default) ~= 'table' then
    return given
  end
  if vim.islist(default) and #default > 0 then
    for _, each in ipairs(given) do
      if type(each) ~= 'string' then
        given = {}
      end
    end
    if #given == 0 then
      problems[#problems + 1] = name .. ': expected a list of texts'
      return default
    end
    return given
  end
  local result = vim.deepcopy(default)
  for key, value in pairs(given) do
    local path = name == '' and tostring(key) or name .. '.' .. key
    if FREE[name:match('[^.]*$')] then
      if type(value) == 'string' or value == false then
        result[key] = value
      else
        problems[#problems + 1] = path .. ': expected a text'
      end
    elseif default[key] == nil then
      local known = vim.tbl_keys(default)
      table.sort(known)
      problems[#problems + 1] = ('%s: there is no such option; there are %s'):format(path, table.concat(known, ', '))
    else
      result[key] = checked(path, value, default[key], problems)
    end
  end
  return result
end

--- A key of one of Marvin's own buffers that does something.
---@param keys marvin.Keys
---@param action string
---@return string
function M.key_of(keys, action)
  for lhs, name in vim.spairs(keys) do
    if name == action then
      return lhs
    end
  end
  return '-'
end

--- Take the options of a person. What is wrong keeps its default.
---@param given table|nil
---@return string[] problems one line each
function M.set(given)
  local problems = {}
  M.options = checked('', given or {}, defaults, problems)
  table.sort(problems)
  return problems
end

return M
