--- The windows of the chat: the transcript, and below it the input. Buffers outlive windows, so that closing the panel
--- ends nothing and loses nothing.
local config = require('marvin.config')

local M = {}

local SPLIT = { right = 'botright vertical', left = 'topleft vertical', bottom = 'botright' }

--- A buffer of Marvin's own.
---@param name string
---@param filetype string
---@return integer
function M.buffer(name, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, 'marvin://' .. name)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  vim.bo[buf].filetype = filetype
  return buf
end

--- Map a person's keys in one of Marvin's buffers.
---@param buf integer
---@param keys marvin.Keys
---@param actions table<string, fun()>
function M.map(buf, keys, actions)
  for lhs, name in pairs(keys) do
    local action = actions[name]
    if action then
      local modes = lhs:match('^<[CM]%-') and vim.bo[buf].modifiable and { 'n', 'i' } or 'n'
      vim.keymap.set(modes, lhs, action, { buffer = buf, nowait = true, desc = 'Marvin: ' .. name:gsub('_', ' ') })
    end
  end
end

--- The window of this tab page that shows a buffer.
---@param buf integer|nil
---@return integer|nil
function M.window(buf)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

---@param win integer
---@param options table<string, any>
local function set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
  end
end

local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  wrap = true,
  linebreak = true,
  list = false,
  spell = false,
  cursorline = false,
}

---@param win integer
local function dress_transcript(win)
  set(win, PLAIN)
  set(win, {
    foldmethod = 'manual',
    foldtext = "v:lua.require'marvin.transcript'.foldtext()",
    foldlevel = 0,
    foldenable = true,
    conceallevel = 0,
  })
  require('marvin.transcript').fold(win)
end

--- Show both, in windows that are there or are made.
---@param transcript integer
---@param input integer
function M.open(transcript, input)
  local before = vim.api.nvim_get_current_win()
  local win = M.window(transcript)
  if not win then
    local panel = config.options.panel
    local size = panel.position == 'bottom' and panel.height or panel.width
    local room = panel.position == 'bottom' and vim.o.lines - 6 or vim.o.columns - 20
    vim.cmd(('%s %dsplit'):format(SPLIT[panel.position], math.max(1, math.min(size, room))))
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, transcript)
    set(win, panel.position == 'bottom' and { winfixheight = true } or { winfixwidth = true })
    dress_transcript(win)
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(transcript), 0 })
  end
  if not M.window(input) then
    vim.api.nvim_set_current_win(win)
    vim.cmd(('belowright %dsplit'):format(config.options.panel.input_height))
    local below = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(below, input)
    set(below, PLAIN)
    set(below, { winfixheight = true, foldmethod = 'manual' })
  end
  if vim.api.nvim_win_is_valid(before) then
    vim.api.nvim_set_current_win(before)
  end
end

--- Show another transcript where one is shown.
---@param old integer
---@param new integer
function M.swap(old, new)
  for _, win in ipairs(vim.fn.win_findbuf(old)) do
    vim.api.nvim_win_set_buf(win, new)
    dress_transcript(win)
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(new), 0 })
  end
end

--- Close the windows of these buffers in this tab page; a last window is given another buffer.
---@param buffers (integer|nil)[]
function M.close(buffers)
  for _, buf in pairs(buffers) do
    local win = M.window(buf)
    if win and #vim.api.nvim_tabpage_list_wins(0) > 1 then
      vim.api.nvim_win_close(win, true)
    elseif win then
      vim.api.nvim_win_call(win, vim.cmd.enew)
    end
  end
end

return M
