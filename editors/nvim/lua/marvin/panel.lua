--- The windows of the chat: the transcript, and below it the input. Buffers outlive windows, so that closing the panel
--- ends nothing and loses nothing.
local bars = require('marvin.bars')
local config = require('marvin.config')
local ending = require('marvin.ending')
local transcripts = require('marvin.transcript')

local M = {}

local SPLIT = { right = 'botright vertical', left = 'topleft vertical', bottom = 'botright' }
local LEAST = { width = 40, height = 10, input = 3 }

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

--- Map a person's keys in one of Marvin's buffers. Those that type no text, and clicks, hold in insert mode too.
---@param buf integer
---@param keys marvin.Keys
---@param actions table<string, fun()>
function M.map(buf, keys, actions)
  for lhs, name in pairs(keys) do
    local action = actions[name]
    if action then
      local is_typed = not lhs:match('^<[CM]%-') and not lhs:match('^<%u%l+Release>$')
      vim.keymap.set(
        is_typed and 'n' or { 'n', 'i' },
        lhs,
        action,
        { buffer = buf, nowait = true, desc = 'Marvin: ' .. name:gsub('_', ' ') }
      )
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
  foldcolumn = '0',
  colorcolumn = '',
  wrap = true,
  linebreak = true,
  breakindent = true,
  list = false,
  spell = false,
  cursorline = false,
  foldmethod = 'manual',
  fillchars = 'eob: ,fold: ',
}

---@param win integer
local function dress_transcript(win)
  set(win, PLAIN)
  set(win, {
    winbar = '%#MarvinBar#' .. bars.item('conversation'),
    statusline = bars.item('transcript_keys'),
    foldtext = "v:lua.require'marvin.folds'.text()",
    foldlevel = 0,
    foldenable = true,
    conceallevel = 0,
    winhighlight = 'Folded:MarvinFold',
  })
  transcripts.fold(win)
end

--- How much of the screen the panel takes: what was asked for, but no more than half, unless half is too little.
---@return integer
local function size()
  local panel = config.options.panel
  if panel.position == 'bottom' then
    return math.min(panel.height, math.max(LEAST.height, math.floor(vim.o.lines / 2)), math.max(1, vim.o.lines - 6))
  end
  return math.min(panel.width, math.max(LEAST.width, math.floor(vim.o.columns / 2)), math.max(1, vim.o.columns - 20))
end

--- Whether a window has another above or below it: the height of one that has none is that of the screen.
---@param win integer
---@param layout table as of |winlayout()|
---@return boolean
local function is_stacked(win, layout)
  for _, child in ipairs(layout[1] == 'leaf' and {} or layout[2]) do
    if child[2] == win and layout[1] == 'col' or is_stacked(win, child) then
      return true
    end
  end
  return false
end

--- Make the input as high as what is in it.
---@param input integer
function M.fit_input(input)
  local win = M.window(input)
  if win and is_stacked(win, vim.fn.winlayout()) then
    local wanted = vim.api.nvim_win_text_height(win, {}).all + 1
    local height = math.max(math.min(LEAST.input, config.options.panel.input_height), wanted)
    vim.api.nvim_win_set_height(win, math.min(height, config.options.panel.input_height))
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

--- Show both, in windows that are there or are made.
---@param transcript integer
---@param input integer
function M.open(transcript, input)
  local before = vim.api.nvim_get_current_win()
  local win = M.window(transcript)
  if not win then
    M.close({ input })
    vim.cmd(('%s %dsplit'):format(SPLIT[config.options.panel.position], size()))
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, transcript)
    local is_bottom = config.options.panel.position == 'bottom'
    set(win, is_bottom and { winfixheight = true } or { winfixwidth = true })
    dress_transcript(win)
    ending.show(win)
  end
  if not M.window(input) then
    vim.api.nvim_set_current_win(win)
    vim.cmd(('belowright %dsplit'):format(math.min(LEAST.input, config.options.panel.input_height)))
    local below = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(below, input)
    set(below, PLAIN)
    set(below, {
      winbar = '%#MarvinBar#' .. bars.item('state'),
      statusline = bars.item('input_keys'),
      winfixheight = true,
    })
    M.fit_input(input)
  end
  if vim.api.nvim_win_is_valid(before) then
    vim.api.nvim_set_current_win(before)
  end
end

--- Give the panel its part of a screen whose size has changed.
---@param transcript integer
function M.resize(transcript)
  local win = M.window(transcript)
  if not win then
    return
  end
  if config.options.panel.position ~= 'bottom' then
    vim.api.nvim_win_set_width(win, size())
  elseif is_stacked(win, vim.fn.winlayout()) then
    vim.api.nvim_win_set_height(win, size())
  end
end

--- Show another transcript where one is shown.
---@param old integer
---@param new integer
function M.swap(old, new)
  for _, win in ipairs(vim.fn.win_findbuf(old)) do
    vim.api.nvim_win_set_buf(win, new)
    dress_transcript(win)
    ending.show(win)
  end
end

return M
