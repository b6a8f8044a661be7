--- What the person is told outside Marvin's own buffers.
local fitting = require('marvin.fitting')

local M = {}

local function tell(level)
  return function(text)
    vim.notify('Marvin: ' .. text, level, { title = 'Marvin' })
  end
end

M.note = tell(vim.log.levels.INFO)
M.warn = tell(vim.log.levels.WARN)
M.error = tell(vim.log.levels.ERROR)

--- Tell what came of something, which nobody waits for at this moment: in one line that fits, since a longer one would
--- stop everything until a key is pressed.
---@param what string
---@param text string its first line is told, or as much of it as fits
---@param advice string|nil
function M.outcome(what, text, advice)
  local ending = advice and (' (%s)'):format(advice) or ''
  local line = vim.split(vim.trim(text), '\n')[1]
  -- The prefix, and what Neovim keeps of the line for itself.
  local room = vim.o.columns - vim.fn.strdisplaywidth(what .. ending) - 24
  M.note(('%s: %s%s'):format(what, fitting.cut(line, math.max(room, 10)), ending))
end

--- A callback that tells an error, and hands on the result when there is none.
---@param done fun(result: any)|nil
---@return fun(err: table|nil, result: any)
function M.or_error(done)
  return function(err, result)
    if err then
      M.error(err.message)
    elseif done then
      done(result)
    end
  end
end

return M
