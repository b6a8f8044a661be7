-- Drives Neovim's own LSP client against `marvin lsp`, without a plugin, as a person would, and prints what came of it
-- as one line of JSON. Usage: nvim --headless -u NONE -i NONE -n -l neovim_client.lua MARVIN FILE
local marvin, file = arg[1], arg[2]
local SECONDS = 60 -- as in tests/patience.py
local result = {}

local function wait(what, condition)
  if not vim.wait(SECONDS * 1000, condition, 10) then
    print(vim.json.encode({ missing = what, sofar = result, messages = vim.fn.execute('messages') }))
    os.exit(1)
  end
end

vim.lsp.config('marvin', { cmd = { marvin, 'lsp' }, root_markers = { '.git' } })
vim.lsp.enable('marvin')
vim.cmd.edit(file)
vim.bo.filetype = 'python'
wait('the server', function()
  local client = vim.lsp.get_clients({ name = 'marvin', bufnr = 0 })[1]
  return client and client.initialized
end)

local code = vim.api.nvim_get_current_buf()
local window = vim.api.nvim_get_current_win()

-- A problem of another server's, which `Fix` is about.
local line = vim.fn.search('result -= price') - 1
local range = { start = { line = line, character = 8 }, ['end'] = { line = line, character = 23 } }
local problem = { range = range, message = 'the sum is negative', severity = 1, source = 'checker' }
vim.diagnostic.set(vim.api.nvim_create_namespace('checker'), code, {
  {
    lnum = line,
    col = 8,
    end_col = 23,
    message = problem.message,
    severity = vim.diagnostic.severity.ERROR,
    user_data = { lsp = problem },
  },
})

local function act(title)
  vim.api.nvim_set_current_win(window)
  vim.lsp.buf.code_action({
    apply = true,
    context = { diagnostics = { problem } },
    filter = function(action)
      return action.title == title
    end,
  })
end

-- The text of a page that was not there before.
local seen = {}
local function page(title)
  local found
  wait('a page for ' .. title, function()
    for _, other in ipairs(vim.api.nvim_list_wins()) do
      local buffer = vim.api.nvim_win_get_buf(other)
      if buffer ~= code and not seen[buffer] and vim.api.nvim_buf_get_name(buffer):match('%.md$') then
        found = buffer
        return true
      end
    end
  end)
  seen[found] = true
  return table.concat(vim.api.nvim_buf_get_lines(found, 0, -1, false), '\n')
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(code, 0, -1, false), '\n') .. '\n'
end

act('Marvin: Explain')
result.explained = page('Explain')
result.stayed = vim.api.nvim_get_current_win() == window and vim.api.nvim_win_get_buf(window) == code

-- What was typed and not saved is what Marvin works on.
vim.api.nvim_buf_set_lines(code, 0, 1, false, { '"""What a customer buys."""' })
vim.o.undolevels = vim.o.undolevels -- what is typed is an undo step of its own
local before = text()
act('Marvin: Fix')
wait('the fix', function()
  return text() ~= before
end)
result.fixed = text()
result.saved = not vim.bo[code].modified
vim.api.nvim_buf_call(code, function()
  vim.cmd('silent undo')
end)
result.undone = text() == before
vim.api.nvim_buf_call(code, function()
  vim.cmd('silent redo')
  vim.cmd('silent write')
end)

act('Marvin: Commit message')
result.message = page('Commit message')
print(vim.json.encode(result))
