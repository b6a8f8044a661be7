"""Print the folder with Marvin's own part for an editor."""

import argparse
from pathlib import Path

from marvin_cli.commands import show, show_json
from marvin_server.errors import UsageError
from marvin_server.settings import Settings

EDITORS = ("nvim", "emacs", "vscode")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("editor", choices=EDITORS, help="which editor")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    folder = editor_folder(arguments.editor)
    if arguments.json:
        show_json({"editor": arguments.editor, "path": str(folder)})
    else:
        show(str(folder))
    return 0


def editor_folder(editor: str) -> Path:
    """Where the part for ``editor`` is: in the installed package, or in the checkout that it is run from.

    Raises ``UsageError`` where this installation has none.
    """
    package = Path(__file__).resolve().parents[1]
    for editors in (package / "editors", package.parents[1] / "editors"):
        if (editors / editor).is_dir():
            return editors / editor
    raise UsageError(f"this installation has no part for {editor}; docs/any-editor.md says what works without one")
