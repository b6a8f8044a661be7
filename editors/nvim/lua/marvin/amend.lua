--- The command of a question, changed by the person in a window of its own. Nothing that saves files runs it: that
--- takes a key, or `:Marvin allow`, in that window.
local config = require('marvin.config')
local panel = require('marvin.panel')

local M = {}

local HEIGHT = 5

local buffer ---@type integer|nil
local of ---@type string|nil the question that it is about

---@return integer|nil the window of this tab page that shows it
local function window()
  return buffer and panel.window(buffer)
end

--- Whether the command of a question is being changed, on this tab page.
---@param id string
---@return boolean
function M.is_open(id)
  return of == id and window() ~= nil
end

---@return boolean whether the person is in that window
function M.is_current()
  return buffer ~= nil and vim.api.nvim_get_current_buf() == buffer
end

--- Go to the window.
function M.focus()
  local win = window()
  if win then
    vim.api.nvim_set_current_win(win)
  end
end

---@return string the command as it is now
function M.text()
  return table.concat(vim.api.nvim_buf_get_lines(assert(buffer), 0, -1, false), '\n')
end

--- Close the window. What was written stays until another command is changed.
function M.close()
  for _, win in ipairs(buffer and vim.fn.win_findbuf(buffer) or {}) do
    pcall(vim.api.nvim_win_close, win, true)
  end
end

--- Show the command of a question, as it was changed before where it was.
---@param permission table
---@param actions table<string, fun()> `run` and `back`
---@param closed fun() called when the window is gone
function M.open(permission, actions, closed)
  if not (buffer and vim.api.nvim_buf_is_valid(buffer) and of == permission.id) then
    if buffer and vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
    buffer, of = panel.buffer('command', 'sh'), permission.id
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(permission.command.display, '\n', { plain = true }))
    panel.map(buffer, config.options.keys.command, actions)
    vim.api.nvim_create_autocmd('BufWinLeave', { buffer = buffer, callback = vim.schedule_wrap(closed) })
  end
  vim.cmd(('botright %dsplit'):format(HEIGHT))
  vim.api.nvim_win_set_buf(0, buffer)
  local run, back =
    config.key_of(config.options.keys.command, 'run'), config.key_of(config.options.keys.command, 'back')
  vim.wo.winbar = ('Edit the command: %s or :Marvin allow runs it, %s goes back to the question'):format(run, back)
end

return M
