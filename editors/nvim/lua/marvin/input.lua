--- The buffer in which the person writes: its text, its hint while it is empty, earlier prompts.
local completion = require('marvin.completion')
local config = require('marvin.config')
local fitting = require('marvin.fitting')
local history = require('marvin.history')
local panel = require('marvin.panel')

local M = {}

local space = vim.api.nvim_create_namespace('marvin.input')
local HINT = 'Ask, or say what to do: @file #symbol /command'

local input ---@type integer|nil
local actions = {} ---@type table<string, fun()>

local function changed()
  vim.api.nvim_buf_clear_namespace(input, space, 0, -1)
  if M.text() == '' then
    local win = M.window()
    local width = win and vim.api.nvim_win_get_width(win) or vim.o.columns
    vim.api.nvim_buf_set_extmark(input, space, 0, 0, {
      virt_text = { { fitting.cut(HINT, width), 'MarvinHint' } },
      virt_text_pos = 'overlay',
    })
  end
  panel.fit_input(input)
end

--- Say what the keys of the input do; those of earlier prompts are its own.
---@param given table<string, fun()>
function M.act(given)
  actions = vim.tbl_extend('force', actions, given)
end

--- The buffer; it is made where there is none.
---@return integer
function M.buffer()
  if input and vim.api.nvim_buf_is_valid(input) then
    return input
  end
  input = panel.buffer('input', 'marvin-input')
  vim.bo[input].omnifunc = "v:lua.require'marvin.completion'.omnifunc"
  panel.map(input, config.options.keys.input, actions)
  vim.api.nvim_create_autocmd('TextChangedI', { buffer = input, callback = completion.prefetch })
  local events = { 'TextChanged', 'TextChangedI', 'TextChangedP', 'BufWinEnter' }
  vim.api.nvim_create_autocmd(events, { buffer = input, callback = changed })
  changed()
  return input
end

---@return integer|nil the window of this tab page that shows it
function M.window()
  return panel.window(input)
end

---@return string
function M.text()
  return table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), '\n')
end

--- Give it another text.
---@param text string
function M.fill(text)
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(M.buffer(), 0, -1, false, lines)
  changed()
  local win = M.window()
  if win then
    vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
  end
end

--- Put a text before what is written meanwhile.
---@param text string
function M.give_back(text)
  local later = M.text()
  M.fill(later == '' and text or text .. '\n' .. later)
end

---@param by integer
local function step(by)
  return function()
    M.fill(history.step(by, M.text()))
  end
end

M.act({ earlier = step(-1), later = step(1) })

return M
