--- The hunks of patches that are not decided on: where each is now, in buffers as they come and go.
local conversations = require('marvin.conversations')
local hunks = require('marvin.hunks')

local M = {}

local placed = {} ---@type table<string, marvin.Placed> by patch and hunk

--- The file that a hunk is in now.
---@param one marvin.Placed
---@return string
function M.uri_of(one)
  return not one.patch.is_proposed and one.edit.newUri or one.edit.uri
end

---@param uri string
---@return integer|nil
local function buffer_of(uri)
  local path = vim.uri_to_fname(uri)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_name(buf) == path then
      return buf
    end
  end
end

--- Mark a hunk where its file is open.
---@param one marvin.Placed
function M.place(one)
  local buf = not one.buf and buffer_of(M.uri_of(one))
  if buf then
    hunks.place(one, buf)
  end
end

--- Look for the hunks of a buffer anew where its text is another: undone, redone, or typed over.
---@param buf integer
function M.refresh(buf)
  for _, one in pairs(placed) do
    if one.buf == buf and not hunks.holds(one) then
      hunks.remove(one)
      hunks.place(one, buf)
    end
  end
end

--- Bring the marks up to date with what the conversations have.
function M.sync()
  local there = {}
  for _, conversation in ipairs(conversations.all()) do
    for _, patch in ipairs(conversation.patches) do
      for _, edit in ipairs(patch.edits) do
        for _, hunk in ipairs(edit.hunks) do
          local key = patch.id .. ' ' .. hunk.id
          there[key] = true
          local one = placed[key]
          if one and one.patch.is_proposed ~= patch.is_proposed then
            hunks.remove(one)
            one = nil
          end
          one = one or {}
          one.patch, one.edit, one.hunk, one.conversation = patch, edit, hunk, conversation
          placed[key] = one
          M.place(one)
        end
      end
    end
  end
  for key, one in pairs(placed) do
    if not there[key] then
      hunks.remove(one)
      placed[key] = nil
    end
  end
end

--- All that wait, in the order of their files and lines.
---@return marvin.Placed[]
function M.open()
  local list = vim.tbl_values(placed)
  local function row(one)
    return hunks.rows(one) or (one.hunk.newStart - 1)
  end
  table.sort(list, function(one, other)
    if one.edit.path ~= other.edit.path then
      return one.edit.path < other.edit.path
    end
    return row(one) < row(other)
  end)
  return list
end

conversations.listen(function(_, event)
  if event.type:match('^patch%.') or event.type == 'loaded' then
    M.sync()
  end
end)

local group = vim.api.nvim_create_augroup('marvin.pending', {})
vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
  group = group,
  callback = function(event)
    M.refresh(event.buf)
  end,
})
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufUnload' }, {
  group = group,
  callback = function(event)
    for _, one in pairs(placed) do
      if one.buf == event.buf then
        hunks.remove(one)
      end
    end
    vim.schedule(M.sync)
  end,
})

return M
