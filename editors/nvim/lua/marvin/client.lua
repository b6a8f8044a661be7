--- The server: started when it is first needed, noticed when it dies, started again. Neovim's own LSP client does the
--- framing and keeps the documents in step.
local config = require('marvin.config')
local documents = require('marvin.documents')
local say = require('marvin.say')
local unanswered = require('marvin.unanswered')

local M = {}

local PROTOCOL = 1
local RESTARTS, WITHIN_MS = 3, 60000

---@type vim.lsp.Client|nil
local client
---@type 'stopped'|'starting'|'ready'|'failed'
local state = 'stopped'
---@type (fun())[] what is to be done once the server is ready
local waiting = {}
local wanted = false
local deaths = {} ---@type integer[]
local listeners = {} ---@type (fun(what: 'ready'|'lost'|'failed'))[]
local handlers = {} ---@type table<string, function>

local is_new = vim.fn.has('nvim-0.11') == 1

--- Be told when the server is ready, has died, or cannot be started.
---@param listener fun(what: 'ready'|'lost'|'failed')
function M.watch(listener)
  listeners[#listeners + 1] = listener
end

--- Take a notification of the server.
---@param method string without `marvin/`
---@param handler fun(params: table)
function M.hear(method, handler)
  handlers['marvin/' .. method] = function(_, params)
    handler(params)
  end
end

---@return string state, vim.lsp.Client|nil client
function M.state()
  return state, client
end

--- Whether the server can do this; false until it is ready.
---@param method string without `marvin/`
---@return boolean
function M.can(method)
  local features = vim.tbl_get(client or {}, 'server_capabilities', 'experimental', 'marvin', 'features')
  return features ~= nil and features[method] ~= nil
end

--- The project of a buffer, or of the working directory.
---@param buf integer|nil
---@return string
function M.root(buf)
  local name = buf and vim.api.nvim_buf_get_name(buf) or ''
  if name ~= '' and vim.bo[buf].buftype == '' and not name:match('^%a[%w+.-]*://') then
    return vim.fs.root(name, config.options.root_markers) or vim.fs.dirname(name)
  end
  return vim.fs.root(vim.fn.getcwd(), config.options.root_markers) or vim.fn.getcwd()
end

local function attach(buf)
  if client and state == 'ready' and vim.api.nvim_buf_is_valid(buf) and documents.is_document(buf) then
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

local function tell(what)
  for _, listener in ipairs(listeners) do
    listener(what)
  end
end

local function fail_open(message)
  local queue = waiting
  waiting = {}
  -- The latest first, as in `unanswered`.
  for index = #queue, 1, -1 do
    queue[index].fail(message)
  end
  unanswered.fail(message)
end

--- Say why there is no server, and start none before the person asks for it.
---@param why string
local function give_up(why)
  wanted, state = false, 'failed'
  fail_open(why)
  say.error(why)
  tell('failed')
end

---@param how string
---@param id integer
local function exited(how, id)
  if not client or client.id ~= id then
    return
  end
  local was = state
  client, state = nil, 'stopped'
  fail_open(('the server has ended (%s)'):format(how))
  if not wanted then
    return
  end
  local now = vim.uv.now()
  deaths = vim.tbl_filter(function(at)
    return now - at < WITHIN_MS
  end, deaths)
  deaths[#deaths + 1] = now
  if was == 'starting' or #deaths > RESTARTS then
    give_up(('the server has ended (%s): :checkhealth marvin'):format(how))
    return
  end
  say.warn(('the server has ended (%s); it is started again'):format(how))
  tell('lost')
  M.start()
end

local function initialized(found)
  local marvin = vim.tbl_get(found.server_capabilities or {}, 'experimental', 'marvin')
  if not marvin or marvin.protocolVersion ~= PROTOCOL then
    local has = marvin and ('speaks version %s'):format(marvin.protocolVersion) or 'is no Marvin server'
    local name = vim.fs.basename(config.options.cmd[1])
    give_up(('%s %s, not %d: update both'):format(name, has, PROTOCOL))
    return
  end
  state = 'ready'
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    attach(buf)
  end
  local queue = waiting
  waiting = {}
  tell('ready')
  for _, each in ipairs(queue) do
    each.go()
  end
end

--- How the server is run. Neovim is told that it ended well, however it did: its own words, beside ours, would stop the
--- editor until a key is pressed.
---@param root string
---@param ended fun(how: string)
---@return fun(dispatchers: table): table|nil
local function process(root, ended)
  return function(dispatchers)
    local own = vim.tbl_extend('force', dispatchers, {
      on_exit = function(code, signal)
        ended(signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code))
        dispatchers.on_exit(0, 0)
      end,
    })
    return vim.lsp.rpc.start(config.options.cmd, own, { cwd = root, env = config.options.env })
  end
end

local group = vim.api.nvim_create_augroup('marvin.client', {})

--- Start the server, unless it runs.
function M.start()
  if state == 'starting' or state == 'ready' then
    return
  end
  local command = config.options.cmd
  if vim.fn.executable(command[1]) == 0 then
    give_up(('%s was not found: :checkhealth marvin'):format(command[1]))
    return
  end
  wanted, state = true, 'starting'
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { marvin = { protocolVersion = PROTOCOL, documentSave = vim.empty_dict() } }
  -- Most servers count in UTF-16, and Neovim warns where those of one buffer differ.
  capabilities.general = vim.tbl_extend('force', capabilities.general or {}, { positionEncodings = { 'utf-16' } })
  local root = M.root()
  local own = vim.tbl_extend('error', {
    ['workspace/applyEdit'] = documents.apply_edit,
    ['marvin/document/save'] = documents.save,
  }, handlers)
  local how ---@type string
  local settings = {
    name = 'marvin',
    cmd = process(root, function(ending)
      how = ending
    end),
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    capabilities = capabilities,
    handlers = own,
    on_exit = vim.schedule_wrap(function(_, _, id)
      exited(how, id)
    end),
    on_init = initialized,
  }
  -- vim.lsp.start() of 0.10 cannot start without a buffer.
  local ok, id = pcall(is_new and vim.lsp.start or vim.lsp.start_client, settings, { attach = false })
  client = ok and id and vim.lsp.get_client_by_id(id) or nil
  if not client then
    give_up(('%s could not be run: :checkhealth marvin'):format(command[1]))
    return
  end
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost', 'FileType' }, {
    group = group,
    -- At once: whatever is asked next is about the text that the person sees.
    callback = function(event)
      attach(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    callback = function(event)
      if client then
        unanswered.hear(client, event.data)
      end
    end,
  })
end

--- End the server for good, or until it is needed again.
function M.stop()
  wanted = false
  if client then
    local _ = is_new and client:stop() or client.stop()
  end
end

--- End the server, and start it once it has ended.
function M.restart()
  deaths = {}
  if not client then
    state = 'stopped'
    M.start()
    return
  end
  local ended = client
  client, state = nil, 'stopped'
  fail_open('the server was restarted')
  tell('lost')
  local _ = is_new and ended:stop() or ended.stop()
  M.start()
end

--- Ask the server; it is started when it does not run. The callback is called exactly once, in the main loop.
---@param method string without `marvin/`
---@param params table
---@param callback marvin.Callback
function M.request(method, params, callback)
  if next(params) == nil then
    params = vim.empty_dict()
  end
  local function go()
    unanswered.send(client, 'marvin/' .. method, params, callback)
  end
  if state == 'ready' then
    go()
    return
  end
  waiting[#waiting + 1] = {
    go = go,
    fail = function(message)
      callback({ code = -32803, message = message })
    end,
  }
  M.start()
end

return M
