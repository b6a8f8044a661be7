--- Requests on their way: the callback of each is called exactly once, whatever becomes of the server.
local M = {}

---@alias marvin.Callback fun(err: {code: integer, message: string}|nil, result: any)

local CANCELLED, FAILED = -32800, -32803

---@type table<integer, marvin.Callback> in the order in which they were sent
local open = {}
local last = 0
---@type table<integer, marvin.Callback> by Neovim's numbers, those with an answer too
local sent = {}

local is_new = vim.fn.has('nvim-0.11') == 1

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param callback marvin.Callback
function M.send(client, method, params, callback)
  last = last + 1
  local number = last
  open[number] = callback
  local function answered(err, result)
    local waits = open[number]
    open[number] = nil
    if waits then
      waits(err, result)
    end
  end
  local given = is_new and { client, method, params, answered } or { method, params, answered }
  local is_sent, id = client.request(unpack(given))
  if is_sent then
    sent[id] = answered
  else
    answered({ code = FAILED, message = 'the server has ended' })
  end
end

--- Neovim keeps to itself an answer that says cancelled; every other has been given when this calls.
---@param client vim.lsp.Client
---@param told {client_id: integer, request_id: integer, request: {type: string}} of the event `LspRequest`
function M.hear(client, told)
  local answered = sent[told.request_id]
  if answered and told.client_id == client.id and told.request.type == 'complete' then
    sent[told.request_id] = nil
    vim.schedule_wrap(answered)({ code = CANCELLED, message = 'stopped' })
  end
end

--- The server has ended, for the reason `message`. The latest first: what goes back into the input is then in the order
--- in which it was said.
---@param message string
function M.fail(message)
  local left = open
  open, sent = {}, {}
  local numbers = vim.tbl_keys(left)
  table.sort(numbers, function(one, other)
    return one > other
  end)
  for _, number in ipairs(numbers) do
    left[number]({ code = CANCELLED, message = message })
  end
end

return M
