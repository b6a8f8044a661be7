--- Completion of @file, #symbol and /command in the input, as an 'omnifunc'. What is typed is asked about while it is
--- typed, so that the items are there when 'omnifunc' is called, by a key or by a completion plugin.
local client = require('marvin.client')
local positions = require('marvin.positions')
local symbols = require('marvin.symbols')

local M = {}

local KIND = { file = 'f', folder = 'd', command = 'c' }

---@class marvin.Completions
---@field text string what was typed, up to the cursor
---@field items table[] for |complete-items|
local known ---@type marvin.Completions|nil
local asked ---@type string|nil the text that was asked about last
local wanted ---@type fun()|nil
local session_of = function() end ---@type fun(): string|nil

--- Say how the session of the input is found.
---@param get fun(): string|nil
function M.of_session(get)
  session_of = get
end

---@return string text all of it up to the cursor
---@return string word that ends there
local function before_cursor()
  local at = vim.api.nvim_win_get_cursor(0)
  local lines = vim.api.nvim_buf_get_lines(0, 0, at[1], false)
  lines[#lines] = lines[#lines]:sub(1, at[2])
  return table.concat(lines, '\n'), lines[#lines]:match('%S*$')
end

---@param text string
---@param done fun(items: table[])
local function ask_server(text, done)
  local params = { text = text, cursor = positions.utf16(text), sessionId = session_of() }
  client.request('complete', params, function(err, result)
    local items = {}
    for _, item in ipairs(err and {} or result.items) do
      items[#items + 1] = { word = item.insertText, abbr = item.label, kind = KIND[item.kind], menu = item.detail }
    end
    done(items)
  end)
end

--- Ask about a word, once: the server, or for a symbol the editor's other servers.
---@param text string
---@param word string that it ends with
---@param done fun()|nil what is to be done with the answer, in place of what was wanted before
local function fetch(text, word, done)
  wanted = done
  if asked == text then
    return
  end
  asked = text
  local function found(items)
    if asked == text then
      known = { text = text, items = items }
      if wanted then
        wanted()
      end
    end
  end
  if vim.startswith(word, '#') then
    symbols.complete(word:sub(2), found)
  else
    ask_server(text, found)
  end
end

--- Ask about the word at the cursor, when it is one that can be completed.
function M.prefetch()
  local text, word = before_cursor()
  if word:match('^[@#/]') then
    fetch(text, word)
  else
    asked = nil
  end
end

--- For 'omnifunc'.
---@param find_start integer
---@return integer|table
function M.omnifunc(find_start)
  if find_start == 0 then
    return known and known.items or {}
  end
  local text, word = before_cursor()
  if not word:match('^[@#/]') then
    return -3
  end
  local start = vim.api.nvim_win_get_cursor(0)[2] - #word
  if known and known.text == text then
    return start
  end
  fetch(text, word, function()
    if vim.fn.mode():match('^i') and (before_cursor()) == text then
      vim.fn.complete(start + 1, known.items)
    end
  end)
  return -2
end

return M
