--- `:checkhealth marvin`: what is known of the server already, and one question that is answered within seconds.
local client = require('marvin.client')
local config = require('marvin.config')

local M = {}

local SECONDS = 3

---@param command string
local function check_command(command)
  local path = vim.fn.exepath(command)
  if path == '' then
    vim.health.error(('%s was not found on PATH'):format(command), {
      'install the package marvin-assistant',
      "or name it: require('marvin').setup({ cmd = { '/full/path/marvin', 'lsp' } })",
    })
    return
  end
  local done = vim.system({ path, '--version' }, { text = true, timeout = SECONDS * 1000 }):wait()
  if done.code == 0 then
    vim.health.ok(('%s: %s'):format(path, vim.trim(done.stdout)))
  elseif done.code == 124 then
    vim.health.warn(('%s --version took more than %d s'):format(path, SECONDS))
  else
    vim.health.error(('%s --version failed: %s'):format(path, vim.trim(done.stderr or '')), {
      'another program may have the same name: pip show marvin-assistant',
    })
  end
end

local function check_server()
  local state, running = client.state()
  if state == 'failed' then
    vim.health.error('the server could not be started, or has ended several times', {
      ':LspLog may say why, and the log that marvin doctor names',
      ':Marvin restart tries again',
    })
  elseif not running or state ~= 'ready' then
    vim.health.info(('the server is %s; :Marvin starts it'):format(state))
  else
    local marvin = running.server_capabilities.experimental.marvin
    vim.health.ok(('the server runs, version %s'):format(marvin.version))
    local problem = require('marvin.status').problem()
    if problem then
      vim.health.warn(problem, { 'marvin doctor says more' })
    end
  end
end

--- For |:checkhealth|.
function M.check()
  vim.health.start('marvin')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
  check_command(config.options.cmd[1])
  check_server()
  if vim.fn.has('nvim-0.11') == 1 and not vim.treesitter.language.add('markdown') then
    vim.health.info('no treesitter parser for markdown: the chat has the colours of regular expressions')
  end
  vim.health.info('marvin doctor names the model, the folders and the log of the server; :LspLog is that of Neovim')
end

return M
