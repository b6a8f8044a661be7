--- `:Marvin WORD …`: all that there is to do, each with a word, what may follow it, and its completion.
local say = require('marvin.say')

local M = {}

---@class marvin.Call
---@field text string|nil what follows the word
---@field bang boolean
---@field buf integer
---@field line1 integer|nil of a range that was given
---@field line2 integer|nil

---@class marvin.Command
---@field run fun(call: marvin.Call)
---@field words string[]|nil what may follow
---@field files boolean|nil

---@param name string
local function lazy(name)
  return setmetatable({}, {
    __index = function(_, key)
      return function(...)
        return require('marvin.' .. name)[key](...)
      end
    end,
  })
end

local chat, client, context, oneshot = lazy('chat'), lazy('client'), lazy('context'), lazy('oneshot')
local compare, drafts, jobs, options = lazy('compare'), lazy('drafts'), lazy('jobs'), lazy('options')
local question, report, review = lazy('question'), lazy('report'), lazy('review')
local sessions, turns = lazy('sessions'), lazy('turns')

---@param action string
---@return marvin.Command
local function one_shot(action)
  return {
    run = function(call)
      oneshot.run(action, { buf = call.buf, line1 = call.line1, line2 = call.line2 }, call.text)
    end,
  }
end

---@param name string
---@param words string[]|nil
---@return marvin.Command
local function option(name, words)
  return {
    words = words,
    run = function(call)
      options.set(name, call.text)
    end,
  }
end

---@param run fun()
---@return marvin.Command
local function plain(run)
  return {
    run = function()
      run()
    end,
  }
end

---@param call marvin.Call
local function add(call)
  local what = call.text or 'buffer'
  if what == 'selection' then
    local line = vim.api.nvim_win_get_cursor(0)[1]
    context.add_selection(call.buf, call.line1 or line, call.line2 or line)
  elseif what == 'buffer' then
    context.add_buffer(call.buf)
  elseif what == 'diagnostics' then
    context.add_diagnostics(call.buf)
  elseif what == 'diff' or what == 'staged' then
    context.add_diff(what == 'staged')
  else
    context.add_file(vim.fn.expand(what))
  end
end

---@param decision string
local function answer(decision)
  return plain(function()
    question.answer(decision)
  end)
end

---@type table<string, marvin.Command>
local commands = {
  toggle = plain(chat.toggle),
  open = plain(chat.open),
  close = plain(chat.close),
  new = plain(chat.new),
  say = {
    run = function(call)
      if call.text then
        chat.open()
        chat.say(call.text, 'queue')
      else
        chat.open()
      end
    end,
  },
  steer = {
    run = function(call)
      if call.text and chat.begun() then
        chat.say(call.text, 'steer')
      end
    end,
  },
  cancel = plain(chat.cancel),
  sessions = {
    run = function(call)
      sessions.pick(call.text, call.bang)
    end,
  },
  fork = plain(sessions.fork),
  rename = {
    run = function(call)
      sessions.rename(call.text)
    end,
  },
  archive = {
    run = function(call)
      sessions.archive(nil, not call.bang)
    end,
  },
  delete = plain(sessions.delete),
  drafts = plain(drafts.choose),
  queue = plain(drafts.queue),
  older = plain(function()
    local conversation = chat.begun()
    if conversation then
      conversation:older()
    end
  end),
  add = { run = add, words = { 'selection', 'buffer', 'diagnostics', 'diff', 'staged' }, files = true },
  context = plain(context.edit),
  ask = one_shot('ask'),
  explain = one_shot('explain'),
  fix = one_shot('fix'),
  test = one_shot('test'),
  document = one_shot('document'),
  refactor = one_shot('refactor'),
  edit = {
    run = function(call)
      oneshot.edit({ buf = call.buf, line1 = call.line1, line2 = call.line2 }, call.text)
    end,
  },
  commit = {
    run = function(call)
      oneshot.commit(call.buf)
    end,
  },
  question = plain(question.focus),
  allow = answer('allowOnce'),
  deny = answer('deny'),
  review = plain(review.list),
  next = plain(function()
    review.step(1)
  end),
  previous = plain(function()
    review.step(-1)
  end),
  keep = {
    words = { 'all' },
    run = function(call)
      review.keep(call.bang or call.text == 'all')
    end,
  },
  reject = {
    words = { 'all' },
    run = function(call)
      local is_all = call.bang or call.text == 'all'
      review.reject(is_all, is_all and (call.bang and call.text or '') or call.text)
    end,
  },
  diff = plain(compare.show),
  undo = plain(turns.undo),
  redo = plain(turns.redo),
  mode = option('mode', { 'plan', 'review', 'auto', 'full' }),
  model = option('model'),
  provider = option('provider'),
  thinking = option('thinking', { 'default', 'none', 'low', 'medium', 'high' }),
  usage = plain(report.usage),
  status = plain(report.status),
  jobs = plain(jobs.list),
  restart = plain(client.restart),
  stop = plain(client.stop),
  messages = plain(function()
    say.whole(table.concat(say.told(), '\n'))
  end),
  help = plain(function()
    vim.cmd.help('marvin')
  end),
}

--- Whatever is shown is listened for from the first command on.
local function wake()
  require('marvin.highlights').define()
  for _, name in ipairs({ 'chat', 'disk', 'drafts', 'jobs', 'question', 'review', 'status' }) do
    require('marvin.' .. name)
  end
end

--- Run `:Marvin`.
---@param given table as a user command gets it
function M.run(given)
  local first, text = given.args:match('^(%S*)%s*(.-)%s*$')
  local word, mark = first:match('^(.-)(!?)$')
  local command = commands[word == '' and 'toggle' or word]
  if not command then
    say.error(('there is no :Marvin %s; see :help marvin'):format(word))
    return
  end
  if vim.fn.getcmdwintype() ~= '' then
    say.warn('leave the command-line window first (:q)')
    return
  end
  wake()
  command.run({
    text = text ~= '' and text or nil,
    bang = given.bang or mark == '!',
    buf = vim.api.nvim_get_current_buf(),
    line1 = given.range > 0 and given.line1 or nil,
    line2 = given.range > 0 and given.line2 or nil,
  })
end

--- Complete `:Marvin`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local word, rest = line:match('Marvin!?%s+(%S+)%s+(.*)$')
  local command = commands[word]
  local choices
  if not word then
    choices = vim.tbl_keys(commands)
  elseif command and not rest:find('%s') then
    choices = vim.list_extend({}, command.words or {})
    if command.files then
      vim.list_extend(choices, vim.fn.getcompletion(lead, 'file'))
    end
  end
  choices = vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices or {})
  table.sort(choices)
  return choices
end

return M
