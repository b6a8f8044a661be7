--- What the person is told outside Marvin's own buffers: in one line that fits, since a longer one would stop
--- everything until a key is pressed. `:Marvin messages` has the whole of it.
local fitting = require('marvin.fitting')

local M = {}

local MOST = 100
local PREFIX, MORE = 'Marvin: ', ' (:Marvin messages)'
local told = {} ---@type string[] the latest last

--- What Neovim can show without stopping, in columns.
---@return integer
local function room()
  return math.max(20, vim.v.echospace - vim.fn.strdisplaywidth(PREFIX))
end

---@param text string
---@return string
local function line(text)
  local first = vim.split(vim.trim(text), '\n')[1]
  if first == text and vim.fn.strdisplaywidth(text) <= room() then
    return text
  end
  return fitting.cut(first, room() - #MORE - 1) .. MORE
end

local function tell(level)
  return function(text)
    told[#told + 1] = text
    if #told > MOST then
      table.remove(told, 1)
    end
    -- Two messages of one moment would be two lines: the one before gives way.
    vim.cmd.redraw()
    vim.notify(PREFIX .. line(text), level, { title = 'Marvin' })
  end
end

M.note = tell(vim.log.levels.INFO)
M.warn = tell(vim.log.levels.WARN)
M.error = tell(vim.log.levels.ERROR)

--- Answer what the person has just asked for, in as many lines as it takes.
---@param text string
---@param level integer|nil
function M.whole(text, level)
  vim.notify(PREFIX .. text, level or vim.log.levels.INFO, { title = 'Marvin' })
end

--- Tell what came of something, which nobody waits for at this moment.
---@param what string
---@param text string its first line is told, or as much of it as fits
---@param advice string|nil
function M.outcome(what, text, advice)
  local ending = advice and (' (%s)'):format(advice) or ''
  local left = room() - vim.fn.strdisplaywidth(what .. ': ' .. ending)
  M.note(('%s: %s%s'):format(what, fitting.cut(vim.split(vim.trim(text), '\n')[1], math.max(left, 10)), ending))
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

--- All that was told, whole, the latest last.
---@return string[]
function M.told()
  return told
end

return M
