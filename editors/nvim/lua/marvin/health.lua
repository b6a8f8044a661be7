--- `:checkhealth marvin`
local client = require('marvin.client')
local config = require('marvin.config')

local M = {}

local SECONDS = 5

---@param command string
local function check_server(command)
  local path = vim.fn.exepath(command)
  if path == '' then
    vim.health.error(('%s was not found on PATH'):format(command), {
      'install the package marvin-assistant',
      "or name it: require('marvin').setup({ cmd = { '/full/path/marvin', 'lsp' } })",
    })
    return
  end
  local done = vim.system({ path, '--version' }, { text = true, timeout = SECONDS * 1000 }):wait()
  if done.code ~= 0 then
    vim.health.error(('%s --version failed: %s'):format(path, vim.trim(done.stderr or '')), {
      'another program may have the same name: pip show marvin-assistant',
    })
    return
  end
  vim.health.ok(('%s: %s'):format(path, vim.trim(done.stdout)))
  local answer ---@type table|nil
  local function told(err, result)
    answer = err and { problem = err.message } or result
  end
  client.request('status', {}, told)
  vim.wait(SECONDS * 1000, function()
    return answer ~= nil
  end, 20)
  if not answer then
    vim.health.error(('the server did not answer within %d s'):format(SECONDS), { ':LspLog may say why' })
  elseif answer.problem then
    vim.health.error(answer.problem, { ':LspLog may say why' })
  else
    vim.health.ok(('the server answers, version %s'):format(answer.version))
    local model = ('%s, %s'):format(answer.provider, answer.model)
    if answer.auth == 'ok' then
      vim.health.ok('model: ' .. model)
    else
      vim.health.warn(('model: %s (login %s)'):format(model, answer.auth), { answer.message or 'marvin doctor' })
    end
  end
end

function M.check()
  vim.health.start('marvin')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
  check_server(config.options.cmd[1])
  local state = client.state()
  vim.health.info(('state: %s; logs: marvin doctor names the folder, :LspLog is that of Neovim'):format(state))
end

return M
