--- What runs beside turns: sub-agents, reviews, timers. It is listed, followed and cancelled.
local client = require('marvin.client')
local say = require('marvin.say')

local M = {}

---@class marvin.Job
---@field id string
---@field title string
---@field state 'waiting'|'running'|'finished'|'failed'|'cancelled'
---@field nextRunAt string|nil
---@field result string|nil

local OPEN = { waiting = true, running = true }
local open = {} ---@type table<string, marvin.Job> that wait or run

---@param job marvin.Job
local function note(job)
  open[job.id] = OPEN[job.state] and job or nil
end

--- How many run now.
---@return integer
function M.running()
  return #vim.tbl_filter(function(job)
    return job.state == 'running'
  end, vim.tbl_values(open))
end

---@param job marvin.Job
---@return string
local function line(job)
  local at = job.nextRunAt and (', next at %s'):format(job.nextRunAt:sub(1, 16):gsub('T', ' ')) or ''
  return ('%s (%s%s)'):format(job.title, job.state, at)
end

---@param job marvin.Job
local function choose(job)
  if not OPEN[job.state] then
    say.note(('%s: %s'):format(job.title, job.result or job.state))
    return
  end
  vim.ui.select({ 'Leave it', 'Cancel it' }, { prompt = line(job) }, function(choice)
    if choice == 'Cancel it' then
      client.request('job/cancel', { jobId = job.id }, say.or_error())
    end
  end)
end

--- List all, and cancel one or show what came of it.
function M.list()
  client.request(
    'job/list',
    {},
    say.or_error(function(result)
      vim.iter(result.jobs):each(note)
      if #result.jobs == 0 then
        say.note('nothing runs beside the turns')
        return
      end
      vim.ui.select(result.jobs, { prompt = 'Jobs', format_item = line }, function(job)
        if job then
          choose(job)
        end
      end)
    end)
  )
end

client.hear('job/changed', function(params)
  local job = params.job
  local was_open = open[job.id] ~= nil
  note(job)
  if was_open and not OPEN[job.state] then
    say.note(('%s: %s'):format(line(job), job.result or job.state))
  end
  vim.cmd.redrawstatus({ bang = true })
end)

client.watch(function(what)
  if what == 'ready' then
    open = {}
  end
end)

return M
