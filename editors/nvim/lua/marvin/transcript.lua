--- The text of a conversation in a buffer. It is made of blocks, one below the other; each grows at its own end, so
--- that what streams in costs one insertion, however long the conversation is.
local ending = require('marvin.ending')
local folds = require('marvin.folds')
local heads = require('marvin.heads')

local M = {}

local space = vim.api.nvim_create_namespace('marvin.transcript')

---@class marvin.Block
---@field last integer the extmark at the end of its text
---@field head integer the extmark at its first line
---@field is_folded boolean
---@field is_heading boolean
---@field parts string[] what was appended
---@field since integer when it was begun, in ms of the editor's clock

---@class marvin.Transcript
---@field buf integer
---@field titles table<string, string> of tool calls and patches
---@field private blocks table<string|marvin.Block, marvin.Block>
local Transcript = {}
Transcript.__index = Transcript

local by_buf = {} ---@type table<integer, marvin.Transcript>

---@param buf integer
---@return marvin.Transcript
function M.new(buf)
  local made = setmetatable({ buf = buf, titles = {}, blocks = {} }, Transcript)
  by_buf[buf] = made
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      by_buf[buf] = nil
    end,
  })
  return made
end

--- The transcript that is in a buffer.
---@param buf integer
---@return marvin.Transcript|nil
function M.of(buf)
  return by_buf[buf]
end

--- Make the folds of a window that shows a transcript from now on.
---@param win integer
function M.fold(win)
  local transcript = by_buf[vim.api.nvim_win_get_buf(win)]
  folds.clear(win)
  for _, block in pairs(transcript and transcript.blocks or {}) do
    transcript:fold(block, win, false)
  end
end

--- The rows of a block, from 0.
---@private
---@param block marvin.Block
---@return integer first
---@return integer last
function Transcript:rows(block)
  local function row(mark)
    return vim.api.nvim_buf_get_extmark_by_id(self.buf, space, mark, {})[1]
  end
  return row(block.head), row(block.last)
end

--- Fold all of a block, however much it has become, in a window.
---@private
---@param block marvin.Block
---@param win integer
---@param is_open boolean the person has opened it
function Transcript:fold(block, win, is_open)
  local first, last = self:rows(block)
  if block.is_folded and first < last then
    folds.set(win, first + 1, last + 1, is_open)
  end
end

--- Change the text, keep at the end the windows that were there, and keep the fold of a block that is changed.
---@private
---@param change fun()
---@param block marvin.Block|nil
function Transcript:write(change, block)
  local count = vim.api.nvim_buf_line_count(self.buf)
  local windows = vim.fn.win_findbuf(self.buf)
  local following, is_open = {}, {} ---@type integer[], table<integer, boolean>
  for _, win in ipairs(windows) do
    if vim.api.nvim_win_get_cursor(win)[1] >= count then
      following[#following + 1] = win
    end
    if block and block.is_folded then
      is_open[win] = folds.is_open(win, (self:rows(block)) + 1)
    end
  end
  vim.bo[self.buf].modifiable = true
  change()
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  for win, was_open in pairs(is_open) do
    self:fold(block, win, was_open)
  end
  for _, win in ipairs(following) do
    ending.show(win)
  end
end

---@param text string
---@return string[]
local function split(text)
  -- A carriage return is what a program prints to write over its line.
  return vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
end

--- Move what looks like a head, in lines of a block that are new.
---@private
---@param first integer from 0
---@param last integer
function Transcript:inset(first, last)
  for index, line in ipairs(vim.api.nvim_buf_get_lines(self.buf, first, last + 1, false)) do
    local blanks = heads.inset(line)
    if blanks ~= '' then
      vim.api.nvim_buf_set_text(self.buf, first + index - 1, 0, first + index - 1, 0, { blanks })
    end
  end
end

--- Begin a block at the end, below an empty line.
---@param key string|nil what the block is called when more is to come
---@param head string its first line
---@param options {fold?: boolean, heading?: boolean, highlight?: string, body?: string}|nil
function Transcript:open(key, head, options)
  options = options or {}
  head = head:gsub('[\r\n]+', ' ')
  local count = vim.api.nvim_buf_line_count(self.buf)
  local is_empty = count == 1 and vim.api.nvim_buf_get_lines(self.buf, 0, 1, false)[1] == ''
  -- Whole lines: text that is added to the end of the last line would be taken for part of the block there.
  local lines = is_empty and { head } or { '', head }
  local row = (is_empty and 0 or count) + #lines - 1
  self:write(function()
    vim.api.nvim_buf_set_lines(self.buf, is_empty and 0 or count, -1, false, lines)
  end)
  local mark = vim.api.nvim_buf_set_extmark
  local head_mark = mark(self.buf, space, row, 0, {
    right_gravity = false,
    line_hl_group = options.highlight,
  })
  local block = {
    head = head_mark,
    is_folded = options.fold or false,
    is_heading = options.heading or false,
    parts = {},
    since = vim.uv.now(),
  }
  block.last = mark(self.buf, space, row, #head, {})
  self.blocks[key or block] = block
  if options.body then
    self:extend(block, '\n' .. options.body)
  end
end

---@param key string
---@return boolean
function Transcript:has(key)
  return self.blocks[key] ~= nil
end

--- For how long a block has been there, in ms.
---@param key string
---@return integer
function Transcript:age(key)
  return vim.uv.now() - self.blocks[key].since
end

---@private
---@param block marvin.Block
---@param text string
function Transcript:extend(block, text)
  local at = vim.api.nvim_buf_get_extmark_by_id(self.buf, space, block.last, {})
  block.parts[#block.parts + 1] = text
  local lines = split(text)
  local first = table.remove(lines, 1)
  self:write(function()
    if first ~= '' then
      vim.api.nvim_buf_set_text(self.buf, at[1], at[2], at[1], at[2], { first })
    end
    if #lines > 0 then
      vim.api.nvim_buf_set_lines(self.buf, at[1] + 1, at[1] + 1, false, lines)
      vim.api.nvim_buf_set_extmark(self.buf, space, at[1] + #lines, #lines[#lines], { id = block.last })
    end
    self:inset(math.max(at[1], self:rows(block) + 1), at[1] + #lines)
  end, block)
end

--- Append to a block.
---@param key string
---@param text string
function Transcript:append(key, text)
  local block = self.blocks[key]
  if block and text ~= '' then
    self:extend(block, #block.parts == 0 and '\n' .. text or text)
  end
end

--- Make `text` all that is below the first line of a block; nothing is done where it is that already.
---@param key string
---@param text string
function Transcript:settle(key, text)
  local block = self.blocks[key]
  local whole = text == '' and '' or '\n' .. text
  if not block or table.concat(block.parts) == whole then
    return
  end
  local from, to = self:rows(block)
  local lines = text == '' and {} or split(text)
  block.parts = { whole }
  self:write(function()
    vim.api.nvim_buf_set_lines(self.buf, from + 1, to + 1, false, lines)
    local last = from + #lines
    local length = #vim.api.nvim_buf_get_lines(self.buf, last, last + 1, false)[1]
    vim.api.nvim_buf_set_extmark(self.buf, space, last, length, { id = block.last })
    self:inset(from + 1, last)
  end, block)
end

--- Give a block another first line.
---@param key string
---@param head string
function Transcript:retitle(key, head)
  local block = self.blocks[key]
  if block then
    local row = self:rows(block)
    local length = #vim.api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1]
    head = head:gsub('[\r\n]+', ' ')
    self:write(function()
      vim.api.nvim_buf_set_text(self.buf, row, 0, row, length, { head })
      if #block.parts == 0 then
        vim.api.nvim_buf_set_extmark(self.buf, space, row, #head, { id = block.last })
      end
    end, block)
  end
end

--- Give a block another first line and another name: what it was called may come again.
---@param key string
---@param head string
---@param as string|nil
function Transcript:rename(key, head, as)
  local block = self.blocks[key]
  if block then
    self:retitle(key, head)
    self.blocks[key], self.blocks[as or block] = nil, block
  end
end

--- The nearest head of somebody who speaks, above or below a row.
---@param row integer from 0
---@param step 1|-1
---@return integer|nil row
function Transcript:heading(row, step)
  local nearest
  for _, block in pairs(self.blocks) do
    local at = block.is_heading and self:rows(block)
    if at and (at - row) * step > 0 and (not nearest or (nearest - at) * step > 0) then
      nearest = at
    end
  end
  return nearest
end

--- Whether a row is the first of a block.
---@param row integer from 0
---@return boolean
function Transcript:is_head(row)
  for _, block in pairs(self.blocks) do
    if self:rows(block) == row then
      return true
    end
  end
  return false
end

--- Begin anew with nothing.
function Transcript:clear()
  vim.api.nvim_buf_clear_namespace(self.buf, space, 0, -1)
  self.blocks, self.titles = {}, {}
  vim.bo[self.buf].modifiable = true
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, {})
  vim.bo[self.buf].modifiable = false
end

return M
