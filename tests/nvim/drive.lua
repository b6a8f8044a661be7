--- What the scripts share: waiting, reading what is on the screen, answering Neovim's own questions.
local M = {}

local SECONDS = 60 -- as in tests/patience.py

M.said = {} -- what vim.notify told
M.result = {}

vim.notify = function(text)
  M.said[#M.said + 1] = text
end

function M.finish(result)
  require('marvin.client').stop()
  vim.wait(SECONDS * 1000, function()
    return #vim.lsp.get_clients({ name = 'marvin' }) == 0
  end, 10)
  io.write(vim.json.encode(result), '\n')
  os.exit(0)
end

function M.fail(what)
  local buffers = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      buffers[vim.api.nvim_buf_get_name(buf)] = M.text(buf)
    end
  end
  io.stderr:write(vim.inspect({ missing = what, said = M.said, buffers = buffers }), '\n')
  os.exit(1)
end

function M.wait(what, condition)
  if not vim.wait(SECONDS * 1000, condition, 5) then
    M.fail(what)
  end
end

function M.text(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
end

--- The buffer that shows the conversation of the panel.
function M.chat()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    if vim.bo[buf].filetype == 'marvin' then
      return buf, win
    end
  end
end

function M.input()
  return require('marvin.input').buffer()
end

function M.card()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    if vim.bo[buf].filetype == 'marvin-question' then
      return buf, win
    end
  end
end

function M.see(text)
  M.wait('in the chat: ' .. text, function()
    local buf = M.chat()
    return buf and M.text(buf):find(text, 1, true)
  end)
end

function M.idle()
  M.wait('the end of the turn', function()
    local current = require('marvin.chat').current()
    return current and current.session and not current.turn and next(current.queued) == nil and #current.finished > 0
  end)
end

--- Until a question is on the card that has these words.
function M.see_question(words)
  M.wait('the question ' .. words, function()
    local buf = M.card()
    return buf and M.text(buf):find(words, 1, true)
  end)
end

--- Until the question takes an answer: a key is not taken for one before it could be read.
function M.settle()
  vim.wait(450, function()
    return false
  end)
end

--- The text of the question that is asked, once it takes an answer.
function M.read(words)
  M.see_question(words or '')
  M.settle()
  return M.text((M.card()))
end

--- Until the question was answered and the turn has ended.
function M.answered()
  M.wait('the end of the question', function()
    return M.card() == nil
  end)
  M.idle()
end

--- Until so many hunks wait for a decision.
function M.review(count)
  M.wait(count .. ' hunks', function()
    return #require('marvin.pending').open() == count
  end)
end

--- Type into Neovim as a person does.
function M.keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

function M.told(pattern)
  for _, text in ipairs(M.said) do
    if text:find(pattern, 1, true) then
      return true
    end
  end
  return false
end

--- Choose, at the next question of vim.ui.select, what a function says.
function M.choose(pick)
  vim.ui.select = function(items, options, done)
    local format = options.format_item or tostring
    local titles = vim.tbl_map(format, items)
    M.offered = titles
    local index = pick(titles)
    vim.schedule(function()
      done(items[index], index)
    end)
  end
end

function M.answer(text)
  vim.ui.input = function(options, done)
    M.asked = options.prompt
    vim.schedule(function()
      done(text)
    end)
  end
end

function M.say(text)
  vim.api.nvim_buf_set_lines(M.input(), 0, -1, false, vim.split(text, '\n'))
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(M.input())[1])
  M.keys('<CR>')
end

return M
