--- The review of patches, hunk by hunk: what is not decided on, where it is, and what the person says to it.
local client = require('marvin.client')
local conversations = require('marvin.conversations')
local hunks = require('marvin.hunks')
local say = require('marvin.say')

local M = {}

local placed = {} ---@type table<string, marvin.Placed> by patch and hunk

---@param one marvin.Placed
---@return string
local function uri_of(one)
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

---@param one marvin.Placed
local function place(one)
  local buf = not one.buf and buffer_of(uri_of(one))
  if buf then
    hunks.place(one, buf)
  end
end

--- Look for the hunks of a buffer anew where its text is another: undone, redone, or typed over.
---@param buf integer
local function refresh(buf)
  for _, one in pairs(placed) do
    if one.buf == buf and not hunks.holds(one) then
      hunks.remove(one)
      hunks.place(one, buf)
    end
  end
end

--- Bring the marks up to date with what the conversations have.
local function sync()
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
          place(one)
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

---@param one marvin.Placed
local function go(one)
  local path = vim.uri_to_fname(uri_of(one))
  if vim.bo.buftype ~= '' then
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' then
        vim.api.nvim_set_current_win(win)
        break
      end
    end
  end
  if vim.bo.buftype ~= '' then
    vim.cmd('topleft split')
  end
  if vim.api.nvim_buf_get_name(0) ~= path then
    vim.cmd.edit(vim.fn.fnameescape(path))
  end
  place(one)
  local row = hunks.rows(one)
  local line = (row or one.hunk.newStart - 1) + 1
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, vim.api.nvim_buf_line_count(0))), 0 })
  if row == 0 then
    -- Virtual lines above the first line are only seen as what fills the top.
    vim.fn.winrestview({ topline = 1, topfill = #one.hunk.oldLines })
  end
end

--- Where a hunk is, in words.
---@param one marvin.Placed
local function name(one)
  local state = one.patch.is_proposed and 'proposed' or 'changed'
  local lost = one.buf and not one.found and ', not found in the text as it is now' or ''
  return ('%s:%d %s +%d -%d%s'):format(
    one.edit.path,
    (hunks.rows(one) or one.hunk.newStart - 1) + 1,
    state,
    #one.hunk.newLines,
    #one.hunk.oldLines,
    lost
  )
end

--- The hunk that the cursor is in or beside.
---@return marvin.Placed|nil
function M.at_cursor()
  local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
  local nearest, distance
  for _, one in ipairs(M.open()) do
    local first, last = hunks.rows(one)
    if one.buf == buf and first then
      local away = row < first and first - row or math.max(0, row - last)
      if away <= 1 and (not nearest or away < distance) then
        nearest, distance = one, away
      end
    end
  end
  return nearest
end

--- Go to the next hunk, or the one before; past the last one it begins anew.
---@param step 1|-1
function M.step(step)
  local list = M.open()
  if #list == 0 then
    say.note('nothing waits for a review')
    return
  end
  local path, row = vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] - 1
  local target ---@type integer|nil
  for index = 1, #list do
    local at = step == 1 and index or #list + 1 - index
    local one = list[at]
    local own = vim.uri_to_fname(uri_of(one))
    local first = hunks.rows(one) or one.hunk.newStart - 1
    local beyond
    if own == path then
      beyond = step == 1 and first > row or step == -1 and first < row
    else
      beyond = step == 1 and own > path or step == -1 and own < path
    end
    if beyond then
      target = at
      break
    end
  end
  target = target or (step == 1 and 1 or #list)
  go(list[target])
  say.note(('hunk %d of %d: %s'):format(target, #list, name(list[target])))
end

--- All that wait, in the quickfix list, and the first of them.
function M.list()
  local list = M.open()
  if #list == 0 then
    say.note('nothing waits for a review')
    return
  end
  local entries = {}
  for _, one in ipairs(list) do
    entries[#entries + 1] = {
      filename = vim.uri_to_fname(uri_of(one)),
      lnum = (hunks.rows(one) or one.hunk.newStart - 1) + 1,
      text = name(one),
    }
  end
  vim.fn.setqflist({}, ' ', { title = 'Marvin: hunks to review', items = entries })
  go(list[1])
  say.note(('%d hunks wait: :Marvin keep, reject, next, diff; :copen lists them'):format(#list))
end

---@param patch table
---@param conversation marvin.Conversation
---@param params table
local function resolve(patch, conversation, params)
  params.patchId = patch.id
  client.request('patch/resolve', params, function(err, result)
    if err then
      say.error(err.message)
      conversation:load()
      return
    end
    conversation:decide(patch.id, result.applied)
    sync()
    for _, failed in ipairs(result.failed) do
      local reason = failed.reason == 'stale' and 'its lines are not there any more, or more than once' or failed.reason
      say.warn('a hunk was left as it is: ' .. reason)
    end
  end)
end

---@param done fun(one: marvin.Placed)
local function with_hunk(done)
  local one = M.at_cursor()
  if one then
    done(one)
  else
    say.note('no hunk is at the cursor; :Marvin next goes to one')
  end
end

---@param is_all boolean all that wait, or the hunk at the cursor
---@param params fun(ids: string[]): table
local function decide(is_all, params)
  if not is_all then
    with_hunk(function(one)
      resolve(one.patch, one.conversation, params({ one.hunk.id }))
    end)
    return
  end
  local patches = {} ---@type table<string, {one: marvin.Placed, ids: string[]}>
  for _, one in ipairs(M.open()) do
    local of = patches[one.patch.id] or { one = one, ids = {} }
    patches[one.patch.id] = of
    of.ids[#of.ids + 1] = one.hunk.id
  end
  for _, of in pairs(patches) do
    resolve(of.one.patch, of.one.conversation, params(of.ids))
  end
end

--- Keep the hunk at the cursor, or all.
---@param is_all boolean
function M.keep(is_all)
  decide(is_all, function(ids)
    return { accept = ids }
  end)
end

--- Take the hunk at the cursor back, or all. The model gets the reason.
---@param is_all boolean
---@param reason string|nil asked for where it is nil; it may be empty
function M.reject(is_all, reason)
  local function go_on(why)
    decide(is_all, function(ids)
      return {
        reject = vim.tbl_map(function(id)
          return { hunkId = id, reason = why ~= '' and why or nil }
        end, ids),
      }
    end)
  end
  if reason then
    go_on(reason)
    return
  end
  local buf, at = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)
  vim.ui.input({ prompt = 'Why not? (the model reads it; may be empty) ' }, function(why)
    -- The answer may come much later, when the person is somewhere else.
    if why and vim.api.nvim_get_current_buf() == buf and vim.api.nvim_win_get_cursor(0)[1] == at[1] then
      go_on(why)
    elseif why then
      say.warn('the cursor has moved meanwhile; nothing was rejected')
    end
  end)
end

--- The text of a buffer on the other side of its open hunks: before them where they are made, else with them.
---@param buf integer
---@return string[]
local function other_side(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local list = vim.tbl_filter(function(one)
    return one.buf == buf and one.found and hunks.rows(one) ~= nil
  end, M.open())
  for index = #list, 1, -1 do
    local one = list[index]
    local first, last = hunks.rows(one)
    local here, there = hunks.sides(one)
    local result = vim.list_slice(lines, 1, first)
    vim.list_extend(result, there)
    vim.list_extend(result, lines, (#here == 0 and first or last + 1) + 1)
    lines = result
  end
  return lines
end

--- Show the whole file beside what it was, or would be, in Neovim's own diff mode, in a tab page.
function M.diff()
  local buf = vim.api.nvim_get_current_buf()
  refresh(buf)
  local one
  for _, each in ipairs(M.open()) do
    if each.buf == buf then
      one = each
      break
    end
  end
  if not one then
    say.note('no hunk of this file waits for a review')
    return
  end
  local other = other_side(buf)
  local side = one.patch.is_proposed and 'proposed' or 'before'
  vim.cmd('tab split')
  vim.cmd.diffthis()
  vim.cmd('leftabove vertical new')
  local scratch = vim.api.nvim_get_current_buf()
  vim.bo[scratch].buftype, vim.bo[scratch].bufhidden, vim.bo[scratch].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(scratch, 0, -1, false, other)
  vim.bo[scratch].modifiable = false
  vim.bo[scratch].filetype = vim.bo[buf].filetype
  pcall(vim.api.nvim_buf_set_name, scratch, ('marvin://%s/%s'):format(side, one.edit.path))
  vim.cmd.diffthis()
  vim.cmd.wincmd('p')
end

conversations.listen(function(_, event)
  if event.type:match('^patch%.') or event.type == 'loaded' then
    sync()
  end
end)

local group = vim.api.nvim_create_augroup('marvin.review', {})
vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, {
  group = group,
  callback = function(event)
    refresh(event.buf)
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
    vim.schedule(sync)
  end,
})

return M
