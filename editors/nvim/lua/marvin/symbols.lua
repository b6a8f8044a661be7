--- What the editor's other language servers know by name: for `#name` in a prompt. They are asked aside, and nobody
--- waits for one that is slow.
local context = require('marvin.context')

local M = {}

local PATIENCE_MS = 1000
local MOST = 50
local KIND = vim.lsp.protocol.SymbolKind
-- What is declared in these is of no interest outside them.
local HAS_LOCALS = { [KIND.Function] = true, [KIND.Method] = true, [KIND.Constructor] = true }

---@class marvin.Symbol
---@field name string
---@field kind integer
---@field uri string
---@field first integer line, from 1
---@field last integer

local offered = {} ---@type table<string, marvin.Symbol> by the word that stands for it
local outlines = {} ---@type table<string, {tick: integer, symbols: marvin.Symbol[]}> by buffer and server

---@param client vim.lsp.Client
---@param method string
---@param buf integer
---@return boolean
local function supports(client, method, buf)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:supports_method(method, buf)
  end
  return client.supports_method(method, { bufnr = buf })
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param buf integer
---@param done fun(result: any) called at most once
local function request(client, method, params, buf, done)
  local function answered(err, result)
    done(not err and result or {})
  end
  if vim.fn.has('nvim-0.11') == 1 then
    client:request(method, params, answered, buf)
  else
    client.request(method, params, answered, buf)
  end
end

---@param found table of `DocumentSymbol` or `SymbolInformation`
---@param uri string|nil of the document, where there is one
---@param into marvin.Symbol[]
local function collect(found, uri, into)
  for _, each in ipairs(found) do
    local range = each.range or each.location.range
    if range then
      into[#into + 1] = {
        name = each.name,
        kind = each.kind,
        uri = uri or each.location.uri,
        first = range.start.line + 1,
        -- A range may end where the next line begins.
        last = math.max(range.start.line, range['end'].line - (range['end'].character == 0 and 1 or 0)) + 1,
      }
    end
    if each.children and not HAS_LOCALS[each.kind] then
      collect(each.children, uri, into)
    end
  end
end

--- Files that are in a window.
---@return integer[]
local function shown_files()
  local found = {} ---@type table<integer, boolean>
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    found[buf] = vim.bo[buf].buftype == '' or nil
  end
  return vim.tbl_keys(found)
end

--- What is asked, of whom: each calls back once with what it found, or never.
---@param query string
---@return (fun(done: fun(symbols: marvin.Symbol[])))[]
local function inquiries(query)
  local asks, servers = {}, {} ---@type function[], table<integer, boolean>
  for _, buf in ipairs(shown_files()) do
    local uri, tick = vim.uri_from_bufnr(buf), vim.api.nvim_buf_get_changedtick(buf)
    for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf })) do
      local key = ('%d %d'):format(buf, client.id)
      if supports(client, 'textDocument/documentSymbol', buf) then
        asks[#asks + 1] = function(done)
          local known = outlines[key]
          if known and known.tick == tick then
            done(known.symbols)
            return
          end
          request(client, 'textDocument/documentSymbol', { textDocument = { uri = uri } }, buf, function(result)
            local symbols = {}
            collect(result, uri, symbols)
            outlines[key] = { tick = tick, symbols = symbols }
            done(symbols)
          end)
        end
      end
      if query ~= '' and not servers[client.id] and supports(client, 'workspace/symbol', buf) then
        servers[client.id] = true
        asks[#asks + 1] = function(done)
          request(client, 'workspace/symbol', { query = query }, buf, function(result)
            local symbols = {}
            collect(result, nil, symbols)
            done(symbols)
          end)
        end
      end
    end
  end
  return asks
end

---@param symbol marvin.Symbol
---@return string
local function place(symbol)
  return ('%s:%d'):format(vim.fn.fnamemodify(vim.uri_to_fname(symbol.uri), ':.'), symbol.first)
end

--- As completion items: those of the same name tell where they are, and the same place is there once.
---@param symbols marvin.Symbol[]
---@param query string
---@return table[]
local function items_of(symbols, query)
  local names, places, distinct = {}, {}, {} ---@type table<string, integer>, table<string, boolean>, marvin.Symbol[]
  for _, symbol in ipairs(symbols) do
    local at = ('%s %s %d'):format(symbol.name, symbol.uri, symbol.first)
    if not places[at] and not symbol.name:find('%s') then
      places[at] = true
      distinct[#distinct + 1] = symbol
      names[symbol.name] = (names[symbol.name] or 0) + 1
    end
  end
  if query ~= '' then
    distinct = vim.fn.matchfuzzy(distinct, query, { key = 'name' })
  end
  local items = {}
  for _, symbol in ipairs(vim.list_slice(distinct, 1, MOST)) do
    local word = '#' .. symbol.name .. (names[symbol.name] > 1 and '@' .. place(symbol) or '')
    offered[word] = symbol
    items[#items + 1] =
      { word = word, abbr = symbol.name, kind = 's', menu = ('%s %s'):format(KIND[symbol.kind], place(symbol)) }
  end
  return items
end

--- Find symbols by a part of their names.
---@param query string
---@param done fun(items: table[]) for |complete-items|; called once, at the latest after a second
function M.complete(query, done)
  local name = query:match('^[^@]*')
  local symbols = {} ---@type marvin.Symbol[]
  local asks = inquiries(name)
  local open = #asks + 1
  local is_over = false
  local function finish()
    if not is_over then
      is_over = true
      done(items_of(symbols, name))
    end
  end
  local function answered(found)
    vim.list_extend(symbols, found)
    open = open - 1
    if open == 0 then
      finish()
    end
  end
  for _, ask in ipairs(asks) do
    ask(answered)
  end
  answered({})
  vim.defer_fn(finish, PATIENCE_MS)
end

--- The symbols that a prompt names, out of those that were offered: lines of an open file, else where they are.
---@param text string
---@return marvin.ContextItem[]
function M.named(text)
  local items, seen = {}, {}
  for word in text:gmatch('#%S+') do
    local symbol = offered[word] or offered[word:gsub('[.,;:!?)]+$', '')]
    if symbol and not seen[symbol] then
      seen[symbol] = true
      items[#items + 1] = context.lines_of(word, symbol.uri, symbol.first, symbol.last)
    end
  end
  return items
end

return M
