--- Places in buffers as the protocol has them: lines and characters from 0, counted in UTF-16.
local M = {}

--- A range of whole lines or of characters, in the positions of the protocol.
---@param buf integer
---@param first {[1]: integer, [2]: integer} row and byte, from 0
---@param last {[1]: integer, [2]: integer} row and byte, the first that is not part of it
function M.range(buf, first, last)
  local function position(at)
    local line = vim.api.nvim_buf_get_lines(buf, at[1], at[1] + 1, false)[1] or ''
    return { line = at[1], character = M.utf16(line:sub(1, at[2])) }
  end
  return { start = position(first), ['end'] = position(last) }
end

--- How long a text is in UTF-16.
---@param text string
---@return integer
function M.utf16(text)
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.str_utfindex(text, 'utf-16')
  end
  local _, length = vim.str_utfindex(text)
  return length
end

--- The version of a buffer that the server was told of last; a request brings along what was typed since.
---@param buf integer
---@return integer
function M.version(buf)
  return vim.lsp.util.buf_versions[buf]
end

--- The lines of a command's range.
---@param buf integer
---@param line1 integer from 1
---@param line2 integer
function M.lines(buf, line1, line2)
  local count = vim.api.nvim_buf_line_count(buf)
  if line2 < count then
    return M.range(buf, { line1 - 1, 0 }, { line2, 0 })
  end
  local last = vim.api.nvim_buf_get_lines(buf, count - 1, count, false)[1] or ''
  return M.range(buf, { line1 - 1, 0 }, { count - 1, #last })
end

--- The diagnostics of a buffer as the protocol has them.
---@param buf integer
---@param first integer|nil row, from 0
---@param last integer|nil
---@return table[]
function M.diagnostics(buf, first, last)
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    if not first or (each.lnum >= first and each.lnum <= last) then
      found[#found + 1] = {
        range = M.range(buf, { each.lnum, each.col }, { each.end_lnum or each.lnum, each.end_col or each.col }),
        message = each.message,
        severity = each.severity,
        source = each.source,
      }
    end
  end
  return found
end

return M
