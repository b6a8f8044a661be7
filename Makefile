# What people and CI call. Every target sets up what it needs in .venv first.
PYTHON ?= python3
BIN := .venv/bin
COPILOT := @github/copilot@1.0.102
STYLUA := .cache/stylua/node_modules/.bin/stylua
PROMPT ?= Where are links beneath the workspace refused?

.PHONY: run test check fix bench vsix clean

run: .venv/installed
	@$(BIN)/marvin --non-interactive --provider offline --prompt "$(PROMPT)"

test: .venv/developer
	$(BIN)/python -m pytest -n auto --dist worksteal

check: .venv/developer
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m marvin_server.protocol.schema --check
	@if [ -x $(STYLUA) ]; then set -x; $(STYLUA) --check --config-path editors/nvim/.stylua.toml editors/nvim tests/nvim; \
	  else echo "npm is not there: the Lua files are not checked"; fi
	@if [ -d editors/vscode/node_modules ]; then npm run --silent --prefix editors/vscode check; \
	  else echo "npm is not there: the VS Code extension is not checked"; fi
	@if command -v luacheck >/dev/null; then luacheck -q --config editors/nvim/.luacheckrc editors/nvim tests/nvim; \
	  else echo "luacheck is not there: the Lua files are not linted"; fi
	@for emacs in .cache/emacs/emacs .cache/emacs28/emacs; do \
	  if [ -x $$emacs ]; then $$emacs -Q --batch -l tests/emacs/check.el || exit 1; fi; done

fix: .venv/developer
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(STYLUA) --config-path editors/nvim/.stylua.toml editors/nvim tests/nvim

bench: .venv/developer
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.nvim.speed
	$(BIN)/python -m tests.emacs.speed
	$(BIN)/python -m tests.vscode.speed

vsix:
	@npm ci --silent --no-audit --no-fund --prefix editors/vscode
	@npm run --silent --prefix editors/vscode package -- --out marvin.vsix

clean:
	rm -rf .venv dist build editors/vscode/marvin.vsix

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Marvin needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...")'
	@echo "Setting up .venv (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/python -m compileall -q marvin_server cli
	@touch $@

.venv/developer: .venv/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@if command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --prefix .cache/copilot $(COPILOT); \
	  npm install --silent --no-audit --no-fund --prefix .cache/stylua @johnnymorganz/stylua-bin; \
	  npm ci --silent --no-audit --no-fund --prefix editors/vscode; \
	  else echo "npm is not there: the tests of the Copilot provider are left out"; fi
	@touch $@
