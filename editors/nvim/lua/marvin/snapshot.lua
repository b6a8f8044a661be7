--- A session as it is at one moment, put together from the server's pages.
local client = require('marvin.client')

local M = {}

---@class marvin.Snapshot
---@field newest table the answer of `session/load` for the newest page
---@field items table[] of all pages, the oldest first
---@field cursor string|nil there are older ones
---@field partial table|nil the message that is being written
---@field patches table[] with hunks that are not decided on
---@field turns string[] of the items, the oldest first

---@param pages table[] the newest first
---@return marvin.Snapshot
local function join(pages)
  local items, turns, seen, runs = {}, {}, {}, {}
  for index = #pages, 1, -1 do
    vim.list_extend(items, pages[index].items)
  end
  for _, item in ipairs(items) do
    if item.turnId and not seen[item.turnId] then
      seen[item.turnId] = true
      turns[#turns + 1] = item.turnId
    end
    runs[item.id] = item.kind == 'toolCall' and item.status == 'running'
  end
  local newest = pages[1]
  for _, patch in ipairs(newest.pendingPatches) do
    -- A patch whose tool call runs has not been applied: the call waits for the review.
    patch.is_proposed = runs[patch.toolCallId] or nil
  end
  return {
    newest = newest,
    items = items,
    cursor = pages[#pages].cursor,
    partial = newest.partial,
    patches = newest.pendingPatches,
    turns = turns,
  }
end

--- Ask for so many pages.
---@param session string
---@param depth integer
---@param done fun(err: table|nil, snapshot: marvin.Snapshot|nil)
function M.fetch(session, depth, done)
  local pages = {} ---@type table[]
  local function page(before)
    client.request('session/load', { sessionId = session, before = before }, function(err, result)
      if err then
        done(err)
        return
      end
      pages[#pages + 1] = result
      if result.cursor and #pages < depth then
        page(result.cursor)
      else
        done(nil, join(pages))
      end
    end)
  end
  page()
end

return M
