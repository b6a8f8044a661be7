"""Print where Marvin's own part for an editor is: a folder, or for VS Code what `code --install-extension` takes."""

import argparse
from pathlib import Path

from marvin_cli.commands import show, show_json
from marvin_server.errors import MarvinError
from marvin_server.settings import Settings

_PARTS = {"nvim": "nvim", "emacs": "emacs", "vscode": "vscode/marvin.vsix"}
_LACKING = {"vscode": "the extension is not packed: run `make vsix` in a checkout (it takes npm), and install that"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("editor", choices=tuple(_PARTS), help="which editor")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    part = editor_part(arguments.editor, Path(__file__).resolve().parents[1])
    if arguments.json:
        show_json({"editor": arguments.editor, "path": str(part)})
    else:
        show(str(part))
    return 0


def editor_part(editor: str, package: Path) -> Path:
    """Where the part for ``editor`` is: in the installed ``package``, or in the checkout that it is run from.

    Raises ``MarvinError``, with what to do, where this installation has none.
    """
    for editors in (package / "editors", package.parents[1] / "editors"):
        part = editors / _PARTS[editor]
        if part.exists():
            return part
    raise MarvinError(_LACKING.get(editor, f"this installation has no part for {editor}: install Marvin again"))
