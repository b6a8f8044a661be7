--- Marvin's highlight groups, each linked to a standard one. A colour scheme, or a person, may define them otherwise.
local M = {}

local LINKS = {
  MarvinPrompt = 'Title',
  MarvinAnswer = 'Function',
  MarvinThought = 'Comment',
  MarvinTool = 'Special',
  MarvinFold = 'Normal',
  MarvinBar = 'Title',
  MarvinHint = 'Comment',
  MarvinKey = 'Special',
  MarvinField = 'Identifier',
  MarvinNotice = 'Comment',
  MarvinWarning = 'WarningMsg',
  MarvinQuestion = 'Todo',
  MarvinAdded = 'DiffAdd',
  MarvinRemoved = 'DiffDelete',
}

--- Define those that nobody has defined; done again after each colour scheme.
function M.define()
  for name, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('marvin.highlights', {}),
  callback = M.define,
})

return M
