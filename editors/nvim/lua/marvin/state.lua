--- What an event changes in the state of a conversation.
local wording = require('marvin.wording')

local M = {}

---@param list table[]
---@param id string
local function without(list, id)
  return vim.tbl_filter(function(each)
    return each.id ~= id
  end, list)
end

--- Bring the state up to date with an event, before anybody is told of it.
---@param conversation marvin.Conversation
---@param event table
function M.note(conversation, event)
  local kind = event.type
  if kind == 'turn.started' then
    conversation.turn, conversation.is_ours = event.turnId, true
    conversation.queued[event.turnId] = nil
  elseif kind == 'turn.finished' then
    conversation.queued[event.turnId] = nil
    if conversation.turn == event.turnId then
      conversation.turn = nil
      conversation.finished[#conversation.finished + 1] = event.turnId
      -- What the turn has not taken is a draft now, unless it becomes a turn of its own.
      if #conversation.steered > 0 and event.stopReason ~= 'completed' then
        conversation.steered = {}
        conversation:refresh_waiting()
      end
    end
    conversation:refresh_usage()
  elseif kind == 'message.finished' and event.message.role == 'user' then
    local text = wording.typed(event.message)
    conversation.steered = vim.tbl_filter(function(each)
      return each ~= text
    end, conversation.steered)
  elseif kind == 'permission.requested' then
    conversation.permissions = without(conversation.permissions, event.permission.id)
    table.insert(conversation.permissions, event.permission)
  elseif kind == 'permission.resolved' then
    conversation.permissions = without(conversation.permissions, event.permissionId)
  elseif kind == 'patch.proposed' then
    event.patch.is_proposed = true
    table.insert(conversation.patches, event.patch)
  elseif kind == 'patch.applied' then
    conversation.patches = without(conversation.patches, event.patch.id)
    event.patch.is_new = true
    table.insert(conversation.patches, event.patch)
  elseif kind == 'patch.resolved' then
    local decided = vim.list_extend({}, event.kept)
    for _, rejected in ipairs(event.rejected) do
      decided[#decided + 1] = rejected.hunkId
    end
    M.decide(conversation, event.patchId, decided)
  end
end

--- Take hunks that are decided on out of a patch, and the patch with its last one.
---@param conversation marvin.Conversation
---@param id string
---@param hunks string[]
function M.decide(conversation, id, hunks)
  local left = 0
  for _, patch in ipairs(conversation.patches) do
    for _, edit in ipairs(patch.id == id and patch.edits or {}) do
      edit.hunks = vim.tbl_filter(function(hunk)
        return not vim.list_contains(hunks, hunk.id)
      end, edit.hunks)
      left = left + #edit.hunks
    end
  end
  if left == 0 then
    conversation.patches = without(conversation.patches, id)
  end
end

return M
