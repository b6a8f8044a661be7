--- The review of patches, hunk by hunk: from one to the next, and what the person says to it.
local client = require('marvin.client')
local hunks = require('marvin.hunks')
local pending = require('marvin.pending')
local say = require('marvin.say')

local M = {}

---@param one marvin.Placed
local function go(one)
  local path = vim.uri_to_fname(pending.uri_of(one))
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
  pending.place(one)
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
  for _, one in ipairs(pending.open()) do
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
  local list = pending.open()
  if #list == 0 then
    say.note('nothing waits for a review')
    return
  end
  local path, row = vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] - 1
  local target ---@type integer|nil
  for index = 1, #list do
    local at = step == 1 and index or #list + 1 - index
    local one = list[at]
    local own = vim.uri_to_fname(pending.uri_of(one))
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
  local list = pending.open()
  if #list == 0 then
    say.note('nothing waits for a review')
    return
  end
  local entries = {}
  for _, one in ipairs(list) do
    entries[#entries + 1] = {
      filename = vim.uri_to_fname(pending.uri_of(one)),
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
    pending.sync()
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
  for _, one in ipairs(pending.open()) do
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

return M
