"""Take back what a turn has changed in the files here: the newest turn, unless another is named."""

import argparse
from functools import partial
from pathlib import Path

from msgspec import to_builtins

from marvin_cli.commands import show, show_json
from marvin_server.errors import UsageError
from marvin_server.messages import user_message
from marvin_server.sanitise import revealed
from marvin_server.session.store import Store
from marvin_server.session.undo import Direction, TakenBack, Undo, checkpoints_of
from marvin_server.settings import Settings
from marvin_server.workspace.names import printable

_WORDS = {
    ("undo", False): "Taken back",
    ("undo", True): "Would be taken back",
    ("redo", False): "Brought back",
    ("redo", True): "Would be brought back",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", help="a session (an id, or how it begins) instead of the folder's")
    parser.add_argument("--turn", metavar="ID", help="this turn instead of the newest")
    parser.add_argument("--preview", action="store_true", help="only show what would change")
    parser.add_argument("--working-dir", metavar="DIR", default=".", help="the workspace (default: the current folder)")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    return take_back("undo", arguments, settings)


def take_back(kind: Direction, arguments: argparse.Namespace, settings: Settings) -> int:
    """The exit code of ``undo`` or ``redo``: 1 when something was left alone."""
    path = settings.paths.database(settings.profile)
    if not path.exists():
        raise UsageError(f"there are no sessions yet ({path})")
    try:
        root = str(Path(arguments.working_dir).resolve(strict=True))
    except OSError as error:
        raise UsageError(f"--working-dir {arguments.working_dir}: {error.strerror}") from None
    store = Store.open(path)
    undo = Undo(store.steps, partial(checkpoints_of, settings))
    session_id = store.find(arguments.session).id if arguments.session else None
    steps = undo.find(kind, session_id=session_id, root=None if session_id else root, turn_id=arguments.turn)
    session_id = steps[0].session_id
    if not arguments.preview:
        store.own(session_id)
    taken = undo.take_back(kind, steps, preview=arguments.preview)
    if taken.message is not None:
        store.append(session_id, user_message(taken.message), store.find(session_id).head)
    if kind == "undo" and not taken.is_preview:
        store.patches.undone(session_id, taken.turn_id, taken.applied)
    if arguments.json:
        show_json(to_builtins(taken))
    else:
        _show(taken)
    return 1 if taken.failed else 0


def _show(taken: TakenBack) -> None:
    if taken.is_preview and taken.preview:
        show(taken.preview.rstrip("\n"), revealed)
    for path in taken.applied:
        show(f"{_WORDS[taken.kind, taken.is_preview]}: {printable(path)}")
    if not taken.applied and not taken.failed:
        show("Nothing changes: the files are so already.")
    for failed in taken.failed:
        show(f"Left alone: {printable(failed.path)}: {failed.reason}")
        for conflict in failed.conflicts:
            lines = [*(f"    now  {line}" for line in conflict.ours), *(f"    then {line}" for line in conflict.theirs)]
            show("\n".join([f"  line {conflict.line}:", *(line.rstrip("\n") for line in lines)]), revealed)
    for note in taken.notes:
        show(f"Note: {note}")
