--- Marvin in Neovim: what a person's own configuration calls.
local M = {}

--- Take the options; see `:help marvin-options`. Everything works without it, with the defaults.
---@param options table|nil
function M.setup(options)
  local problems = require('marvin.config').set(options)
  if #problems > 0 then
    require('marvin.say').whole('setup: ' .. table.concat(problems, '\n'), vim.log.levels.WARN)
  end
end

--- One line for the statusline: a question that waits, what is at work, the model, how full its context is, the cost.
--- Empty, and at no cost, until Marvin is used.
---@return string
function M.statusline()
  if not package.loaded['marvin.chat'] then
    return ''
  end
  return require('marvin.status').line()
end

return M
