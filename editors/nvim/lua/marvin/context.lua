--- What goes to the model beside the next prompt: parts of buffers, files, diagnostics, images, changes.
local anchor = require('marvin.anchor')
local positions = require('marvin.positions')
local say = require('marvin.say')

local M = {}

local MIME = { png = 'image/png', jpg = 'image/jpeg', jpeg = 'image/jpeg', gif = 'image/gif', webp = 'image/webp' }

---@class marvin.ContextItem
---@field label string
---@field wire fun(): table|nil as `context` of `turn/start`; nil when what it was about is gone
local items = {} ---@type marvin.ContextItem[]
local listeners = {} ---@type fun()[]

--- Be told when the list changes.
---@param listener fun()
function M.watch(listener)
  listeners[#listeners + 1] = listener
end

local function changed()
  for _, listener in ipairs(listeners) do
    listener()
  end
end

---@param label string
---@param wire fun(): table|nil
local function add(label, wire)
  items[#items + 1] = { label = label, wire = wire }
  changed()
end

---@param buf integer
---@return string
local function name_of(buf)
  return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t')
end

---@param buf integer
---@return boolean
local function is_file(buf)
  if vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= '' then
    return true
  end
  say.warn('this buffer is no file')
  return false
end

--- Add lines of a buffer. They are followed when the text around them changes before the prompt is sent.
---@param buf integer
---@param line1 integer
---@param line2 integer
function M.add_selection(buf, line1, line2)
  if not is_file(buf) then
    return
  end
  local here = anchor.lines(buf, line1, line2)
  add(('%s:%d-%d'):format(name_of(buf), line1, line2), function()
    local first, last = here()
    return first
        and {
          type = 'selection',
          uri = vim.uri_from_bufnr(buf),
          version = positions.version(buf),
          range = positions.lines(buf, first, last),
        }
      or nil
  end)
end

--- Lines of a file under a name of their own: their text where the file is open, else where they are.
---@param label string
---@param uri string
---@param line1 integer from 1
---@param line2 integer
---@return marvin.ContextItem
function M.lines_of(label, uri, line1, line2)
  local path = vim.uri_to_fname(uri)
  local function wire()
    local buf = vim.fn.bufnr(path)
    if buf == -1 or not vim.api.nvim_buf_is_loaded(buf) then
      return { type = 'text', title = label, text = ('%s, lines %d to %d'):format(path, line1, line2) }
    end
    local count = vim.api.nvim_buf_line_count(buf)
    local range = positions.lines(buf, math.min(line1, count), math.min(line2, count))
    return { type = 'selection', uri = vim.uri_from_bufnr(buf), version = positions.version(buf), range = range }
  end
  return { label = label, wire = wire }
end

--- Add all text of a buffer, saved or not.
---@param buf integer
function M.add_buffer(buf)
  if is_file(buf) then
    add(name_of(buf), function()
      return vim.api.nvim_buf_is_loaded(buf)
          and { type = 'buffer', uri = vim.uri_from_bufnr(buf), version = positions.version(buf) }
        or nil
    end)
  end
end

--- Add what the editor's other servers say about a buffer.
---@param buf integer
function M.add_diagnostics(buf)
  if is_file(buf) then
    add('diagnostics of ' .. name_of(buf), function()
      return vim.api.nvim_buf_is_loaded(buf)
          and { type = 'diagnostics', uri = vim.uri_from_bufnr(buf), items = positions.diagnostics(buf) }
        or nil
    end)
  end
end

--- Add a file that the model may read; an image is sent along.
---@param path string
function M.add_file(path)
  local full = vim.fn.fnamemodify(path, ':p')
  local mime = MIME[(full:match('%.(%w+)$') or ''):lower()]
  if not mime then
    add(vim.fs.basename(full), function()
      return { type = 'file', uri = vim.uri_from_fname(full) }
    end)
    return
  end
  local function failed(problem)
    vim.schedule(function()
      say.error(('%s: %s'):format(path, problem))
    end)
  end
  vim.uv.fs_open(full, 'r', 0, function(problem, fd)
    if not fd then
      failed(problem)
      return
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      vim.uv.fs_read(fd, stat and stat.size or 0, 0, function(unread, bytes)
        vim.uv.fs_close(fd)
        if not bytes then
          failed(unread)
          return
        end
        vim.schedule(function()
          M.add_image('image ' .. vim.fs.basename(full), mime, vim.base64.encode(bytes))
        end)
      end)
    end)
  end)
end

---@param label string
---@param mime string
---@param encoded string base64
function M.add_image(label, mime, encoded)
  add(label, function()
    return { type = 'image', mimeType = mime, data = encoded }
  end)
end

--- Add what went along with a prompt that was not sent: its text as it was then, or the file that was meant.
---@param was marvin.Added
function M.add_again(was)
  local text = was.text:gsub('^%[From the editor%.[^\n]*%]\n+', '')
  local _, fenced = text:match('^[^\n]*:\n(`+)\n(.*)\n%1$')
  add(was.label, function()
    if not fenced and was.uri then
      return { type = 'file', uri = was.uri }
    end
    return { type = 'text', title = was.label, text = fenced or text }
  end)
end

--- Add the changes that git shows.
---@param is_staged boolean
function M.add_diff(is_staged)
  add(is_staged and 'staged changes' or 'changes', function()
    return { type = 'gitDiff', staged = is_staged }
  end)
end

---@return string[]
function M.labels()
  return vim.tbl_map(function(item)
    return item.label
  end, items)
end

--- Take one out.
---@param index integer
function M.remove(index)
  table.remove(items, index)
  changed()
end

--- Take all, for a prompt; nothing is left.
---@return marvin.ContextItem[]
function M.take()
  local taken = items
  items = {}
  changed()
  return taken
end

--- Give back what was taken for a prompt that was not sent.
---@param taken marvin.ContextItem[]
function M.put_back(taken)
  items = vim.list_extend(taken, items)
  changed()
end

--- As `context` of `turn/start`, as things are now. The server must be ready: versions are those that it was told.
---@param taken marvin.ContextItem[]
---@return table[]
function M.wire(taken)
  local wire = {}
  for _, item in ipairs(taken) do
    local made = item.wire()
    if made then
      wire[#wire + 1] = made
    else
      say.warn(item.label .. ' is gone and was left out')
    end
  end
  return wire
end

--- Choose one that is to be taken out.
function M.edit()
  if #items == 0 then
    say.note('nothing is added to the next prompt; :Marvin add selection, buffer, diagnostics, diff, or a file')
    return
  end
  vim.ui.select(M.labels(), { prompt = 'Take out of the next prompt' }, function(_, index)
    if index then
      M.remove(index)
    end
  end)
end

return M
