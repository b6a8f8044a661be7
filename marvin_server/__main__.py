"""``python -m marvin_server`` is ``marvin lsp``."""

import sys

from marvin_cli.main import main

sys.argv.insert(1, "lsp")
main()
