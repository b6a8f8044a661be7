-- How long the main loop is held up while a long answer streams in, and while a large edit is made.
local drive = require('drive')
local result = {}

--- The longest work, in ms of the processor, between two turns of the main loop while something is waited for. The
--- clock on the wall would also count what other programs of the machine do.
local function longest(what, condition)
  local worst, last = 0, os.clock()
  local timer = assert(vim.uv.new_timer())
  timer:start(1, 1, function()
    local now = os.clock()
    worst = math.max(worst, (now - last) * 1000)
    last = now
  end)
  drive.wait(what, condition)
  timer:stop()
  timer:close()
  return worst
end

vim.cmd.edit(arg[1])
vim.cmd('Marvin')
drive.say('Count')
local began = vim.uv.hrtime()
result.stream = longest('the end', function()
  vim.cmd.redraw()
  local current = require('marvin.chat').current()
  return current and #current.finished == 1
end)
result.seconds = (vim.uv.hrtime() - began) / 1e9
local text = drive.text(drive.chat())
result.is_whole = text:find('word49999 ', 1, true) ~= nil and select(2, text:gsub('word', '')) == 50000

drive.say('Rewrite')
result.edit = longest('the edit', function()
  vim.cmd.redraw()
  return #require('marvin.pending').open() > 0
end)
result.lines = select(2, drive.text(vim.fn.bufnr(arg[1])):gsub('new line', ''))
drive.finish(result)
