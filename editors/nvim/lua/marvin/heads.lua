--- The first lines of a transcript's blocks. They alone begin in the first column: a line within a block that looks
--- like one is moved to the right, so that no text of a model or a tool can pass for what Marvin or the person says.
local M = {}

M.YOU, M.MARVIN = '## You', '## Marvin'

-- Beginnings that are a head whatever follows them, and lines that are one as a whole.
local BEGINNINGS = {
  '#+%s*You%s*$',
  '#+%s*Marvin%s*$',
  'Thinking%s*$',
  'Thinking %(',
  'Tool [%w_]+.*%(%l[%w ,.]*%)%s*$',
  'Question: ',
  'Changed [^:]+ %+%d+ %-%d+',
  'Proposed [^:]+ %+%d+ %-%d+',
  'Reviewed: ',
  'With: ',
  'Marvin was told: ',
  'Waits for its turn: ',
  'Its turn has come%.',
  'Taken out of the queue%.',
  'Given to the running turn: ',
  'Taken by the turn%.',
  'Was never sent: ',
  'Summarised: ',
  'Summary taken back',
  'Note: ',
  'Warning: ',
  'Error: ',
  'Cancelled%.%s*$',
  'Stopped: ',
  'Stopped at the ',
  'Earlier messages are not shown',
}

--- How far a line is moved: by nothing, unless it could be taken for a head.
---@param line string
---@return string blanks that go before it
function M.inset(line)
  for _, beginning in ipairs(line:find('^%s?[#%u]') and BEGINNINGS or {}) do
    if line:find('^%s?' .. beginning) then
      return '  '
    end
  end
  return ''
end

return M
