--- What the person is told outside Marvin's own buffers.
local M = {}

local function tell(level)
  return function(text)
    vim.notify('Marvin: ' .. text, level, { title = 'Marvin' })
  end
end

M.note = tell(vim.log.levels.INFO)
M.warn = tell(vim.log.levels.WARN)
M.error = tell(vim.log.levels.ERROR)

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
