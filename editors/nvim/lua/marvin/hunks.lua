--- Where the hunks of a patch are in buffers as they are now, and what marks them there.
local M = {}

local space = vim.api.nvim_create_namespace('marvin.hunks')

---@class marvin.Placed a hunk that is not decided on
---@field patch table
---@field edit table
---@field hunk table
---@field conversation marvin.Conversation
---@field buf integer|nil where it is shown
---@field mark integer|nil
---@field beside integer|nil the mark with the virtual lines
---@field found boolean
---@field around string[]|nil of a hunk without lines of its own: the lines above and below its place
---@field above integer|nil how many of these are above it
---@field below integer|nil how far its place is below the line that is marked

---@param lines string[]
---@return string[]
local function bare(lines)
  return vim.tbl_map(function(line)
    return (line:gsub('\r?\n$', ''))
  end, lines)
end
M.bare = bare

--- The lines of a buffer; an empty one has none.
---@param buf integer
---@return string[]
function M.text(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  return #lines == 1 and lines[1] == '' and {} or lines
end

--- The row at which these lines stand, the nearest to a row where there are several.
---@param text string[] of the buffer
---@param lines string[]
---@param near integer from 0
---@return integer|nil
local function find(text, lines, near)
  local best
  for row = 0, #text - #lines do
    local fits = true
    for index, line in ipairs(lines) do
      if text[row + index] ~= line then
        fits = false
        break
      end
    end
    if fits and (not best or math.abs(row - near) < math.abs(best - near)) then
      best = row
    end
  end
  return best
end

---@param lines string[]
---@param prefix string
---@param group string
local function virtual(lines, prefix, group)
  return vim.tbl_map(function(line)
    return { { prefix .. (line:gsub('\t', '    ')), group } }
  end, lines)
end

--- The lines of a hunk that are in the file now, and those that would take their place.
---@param placed marvin.Placed
---@return string[] here
---@return string[] there
function M.sides(placed)
  local old, new = bare(placed.hunk.oldLines), bare(placed.hunk.newLines)
  if placed.patch.is_proposed then
    return old, new
  end
  return new, old
end

-- How many lines above and below a place tell it from others.
local NEIGHBOURS = 3

--- Remember what is around a place in a text.
---@param placed marvin.Placed
---@param text string[]
---@param row integer from 0, of the line below it
local function look_around(placed, text, row)
  placed.above = math.min(NEIGHBOURS, row)
  placed.around = vim.list_slice(text, row - placed.above + 1, row + NEIGHBOURS)
end

--- Whether these lines stand at a row.
---@param text string[]
---@param lines string[]
---@param row integer from 0
---@return boolean
local function stand(text, lines, row)
  return row >= 0 and vim.deep_equal(vim.list_slice(text, row + 1, row + #lines), lines)
end

--- Whether the lines that a hunk took away are there again, above or below a place; the same lines may have stood there
--- twice, which what is around it tells.
---@param placed marvin.Placed
---@param text string[]
---@param row integer from 0
---@return boolean
local function is_back(placed, text, row)
  local _, there = M.sides(placed)
  local is_same = placed.around and stand(text, placed.around, row - placed.above)
  return not placed.patch.is_proposed and not is_same and (stand(text, there, row) or stand(text, there, row - #there))
end

--- The row of a place at which there are no lines of a hunk's own.
---@param placed marvin.Placed
---@param text string[]
---@param near integer from 0
---@return integer|nil
local function find_gap(placed, text, near)
  if not placed.around then
    if not placed.patch.is_new and is_back(placed, text, near) then
      return nil
    end
    look_around(placed, text, near)
    return near
  end
  local first = find(text, placed.around, near - placed.above)
  return first and first + placed.above
end

--- Mark a hunk in a buffer: what stands there, with a sign and a colour, and beside it, as virtual lines, the other
--- side. One that is not there any more has no mark.
---@param placed marvin.Placed
---@param buf integer
function M.place(placed, buf)
  local is_proposed = placed.patch.is_proposed
  local here, there = M.sides(placed)
  local text = M.text(buf)
  local near = (is_proposed and placed.hunk.oldStart or placed.hunk.newStart) - 1
  near = math.max(0, math.min(near, #text))
  local row
  if #here == 0 then
    row = find_gap(placed, text, near)
  else
    row = find(text, here, near)
  end
  placed.buf, placed.found = buf, row ~= nil
  if not row then
    return
  end
  local set = vim.api.nvim_buf_set_extmark
  local shown = is_proposed and virtual(there, '+ ', 'MarvinAdded') or virtual(there, '- ', 'MarvinRemoved')
  local own = is_proposed and 'MarvinRemoved' or 'MarvinAdded'
  if #here == 0 then
    local at = math.max(0, math.min(row, #text - 1))
    placed.below = row - at
    placed.mark = set(buf, space, at, 0, {
      sign_text = is_proposed and '?' or '_',
      sign_hl_group = own,
      virt_lines = #shown > 0 and shown or nil,
      virt_lines_above = row < #text or nil,
    })
    return
  end
  placed.mark = set(buf, space, row, 0, {
    -- The end is on the last line, so that a line that follows does not take the place of one that goes.
    end_row = row + #here - 1,
    end_col = #text[row + #here],
    hl_group = own,
    hl_eol = true,
    sign_text = is_proposed and '?' or '+',
    sign_hl_group = own,
    right_gravity = false,
    end_right_gravity = true,
  })
  if #shown > 0 then
    placed.beside = set(buf, space, is_proposed and row + #here - 1 or row, 0, {
      virt_lines = shown,
      virt_lines_above = not is_proposed,
    })
  end
end

--- Whether the lines of a hunk still are where its mark is.
---@param placed marvin.Placed
---@return boolean
function M.holds(placed)
  local first, last = M.rows(placed)
  if not first then
    return false
  end
  local here = M.sides(placed)
  if #here > 0 then
    return vim.deep_equal(vim.api.nvim_buf_get_lines(placed.buf, first, last + 1, false), here)
  end
  local text, row = M.text(placed.buf), M.gap(placed)
  if is_back(placed, text, row) then
    return false
  end
  look_around(placed, text, row)
  return true
end

--- The row, from 0, of the line below the place of a hunk that has no lines of its own.
---@param placed marvin.Placed
---@return integer
function M.gap(placed)
  return M.rows(placed) + placed.below
end

--- Take the marks of a hunk away.
---@param placed marvin.Placed
function M.remove(placed)
  if placed.buf and vim.api.nvim_buf_is_valid(placed.buf) then
    for _, mark in pairs({ placed.mark, placed.beside }) do
      vim.api.nvim_buf_del_extmark(placed.buf, space, mark)
    end
  end
  placed.buf, placed.mark, placed.beside = nil, nil, nil
end

--- The row, from 0, at which a hunk is now; nil where it is in no loaded buffer.
---@param placed marvin.Placed
---@return integer|nil first
---@return integer|nil last
function M.rows(placed)
  if not (placed.mark and placed.buf and vim.api.nvim_buf_is_valid(placed.buf)) then
    return nil
  end
  local at = vim.api.nvim_buf_get_extmark_by_id(placed.buf, space, placed.mark, { details = true })
  if not at[1] then
    return nil
  end
  return at[1], at[3].end_row or at[1]
end

return M
