--- What is asked about: a file that is open, or lines of it, wherever these are by then.
local anchor = require('marvin.anchor')
local positions = require('marvin.positions')
local say = require('marvin.say')

local M = {}

---@class marvin.Subject what an action is about
---@field buf integer
---@field line1 integer|nil of the selection when the command was given, from 1
---@field line2 integer|nil
---@field here (fun(): integer|nil, integer|nil)|nil where the selection is now

---@param buf integer
---@return boolean
function M.is_file(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype == '' and name ~= '' and not name:match('^%a[%w+.-]*://') then
    return true
  end
  say.warn('this buffer is no file')
  return false
end

---@param subject marvin.Subject
---@return string
function M.place(subject)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(subject.buf), ':t')
  if not subject.line1 then
    return name
  end
  return subject.line1 == subject.line2 and ('%s:%d'):format(name, subject.line1)
    or ('%s:%d-%d'):format(name, subject.line1, subject.line2)
end

--- Follow the lines from now on: until the server is ready, or a question is answered, the person types on.
---@param subject marvin.Subject
function M.follow(subject)
  subject.here = subject.line1 and anchor.lines(subject.buf, subject.line1, subject.line2)
end

--- A subject with its lines as they are now.
---@param subject marvin.Subject
---@return marvin.Subject|nil nil, once it was said, where they or the buffer are gone
function M.found(subject)
  local line1, line2
  if subject.here then
    line1, line2 = subject.here()
  end
  if vim.api.nvim_buf_is_loaded(subject.buf) and (line1 or not subject.here) then
    return { buf = subject.buf, line1 = line1, line2 = line2, here = subject.here }
  end
  say.warn('what this was about is gone: nothing was asked')
end

--- What the editor's other servers say about the lines, in words.
---@param subject marvin.Subject
---@return string|nil
function M.problems(subject)
  local lines = {}
  local first, last = subject.line1 and subject.line1 - 1, subject.line2 and subject.line2 - 1
  for _, each in ipairs(positions.diagnostics(subject.buf, first, last)) do
    local source = each.source and (' (%s)'):format(each.source) or ''
    lines[#lines + 1] = ('- line %d: %s%s'):format(each.range.start.line + 1, each.message, source)
  end
  return #lines > 0 and 'The editor shows these problems there:\n' .. table.concat(lines, '\n') or nil
end

return M
