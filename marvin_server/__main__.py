"""``python -m marvin_server`` is ``marvin lsp``."""

import sys

# Python looks for modules in the folder that it is started in: the opened project, which must not bring any.
if not sys.flags.safe_path:
    del sys.path[0]

from marvin_cli.main import main

sys.argv.insert(1, "lsp")
main()
