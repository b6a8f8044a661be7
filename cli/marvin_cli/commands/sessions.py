"""List, show, search and export the sessions of a profile, and answer what is asked in them."""

import argparse
from pathlib import Path
from typing import get_args

from msgspec import to_builtins
from msgspec.structs import asdict

from marvin_cli import markdown, session_tree
from marvin_cli.commands import common, show, show_json, table, tell_damage
from marvin_cli.questions import page
from marvin_server.errors import UsageError
from marvin_server.events import Decision
from marvin_server.session.store import Store
from marvin_server.settings import Settings

_MOST_IN_TREE = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", parents=[common()], help="the sessions, newest first")
    listing.add_argument("--here", action="store_true", help="only those of the current folder")
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="at most N (default 50)")
    showing = actions.add_parser("show", parents=[common()], help="one session as Markdown")
    showing.add_argument("id", help="the id, or how it begins")
    searching = actions.add_parser("search", parents=[common()], help="messages that have these words")
    searching.add_argument("words", nargs="+")
    searching.add_argument("--limit", type=int, default=20, metavar="N", help="at most N (default 20)")
    exporting = actions.add_parser("export", parents=[common()], help="one session, whole, into a file")
    exporting.add_argument("id", help="the id, or how it begins")
    exporting.add_argument("--format", choices=("markdown", "json"), default="json")
    exporting.add_argument("--to", metavar="FILE", help="write here instead of standard output; never overwrites")
    tree = actions.add_parser("tree", parents=[common()], help="which sessions were forked from which")
    tree.add_argument("--here", action="store_true", help="only those of the current folder")
    tree.add_argument("id", nargs="?", help="only the tree of this session: its id, or how it begins")
    asking = actions.add_parser("questions", parents=[common()], help="what is asked in any process, to answer it here")
    asking.add_argument("--answer", nargs=2, metavar=("ID", "DECISION"), help="as the question says, such as deny")
    asking.add_argument("--command", metavar="TEXT", help="with allow_edited: what runs instead")
    asking.add_argument("--note", metavar="TEXT", help="what the model is told with the answer")
    drafts = actions.add_parser("drafts", parents=[common()], help="prompts that were queued and never started")
    drafts.add_argument("--drop", metavar="ID", help="forget this one")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    path = settings.paths.database(settings.profile)
    if not path.exists():
        if arguments.action in ("list", "tree", "search", "questions", "drafts"):
            show("[]" if arguments.json else "There are no sessions yet.")
            return 0
        raise UsageError(f"there are no sessions yet ({path})")
    store = Store.open(path)
    code = 0
    if arguments.action == "list":
        _list(arguments, store)
    elif arguments.action == "tree":
        _tree(arguments, store)
    elif arguments.action == "search":
        _search(arguments, store)
    elif arguments.action == "questions":
        code = _questions(arguments, store)
    elif arguments.action == "drafts":
        _drafts(arguments, store)
    else:
        _whole(arguments, store)
    tell_damage(store)
    return code


def _list(arguments: argparse.Namespace, store: Store) -> None:
    records = store.sessions(cwd=str(Path.cwd()) if arguments.here else None, limit=arguments.limit)
    if arguments.json:
        show_json([asdict(record) for record in records])
    elif not records:
        show("There are no sessions yet.")
    else:
        rows = [(r.id, r.updated_at[:16].replace("T", " "), str(r.messages), r.title or "(untitled)") for r in records]
        show(table([("SESSION", "CHANGED (UTC)", "MESSAGES", "TITLE"), *rows]))


def _tree(arguments: argparse.Namespace, store: Store) -> None:
    records = store.sessions(cwd=str(Path.cwd()) if arguments.here else None, limit=_MOST_IN_TREE)
    if arguments.id:
        records = session_tree.of(store.find(arguments.id), records)
    if arguments.json:
        show_json(session_tree.nested(records))
    else:
        show("\n".join(session_tree.lines(records)) or "There are no sessions yet.")


def _search(arguments: argparse.Namespace, store: Store) -> None:
    hits = store.catalogue.search(" ".join(arguments.words), limit=arguments.limit)
    if arguments.json:
        show_json([asdict(hit) for hit in hits])
    else:
        show("\n".join(f"{hit.session_id}  {hit.title}\n    {hit.snippet}" for hit in hits) or "Nothing found.")


def _questions(arguments: argparse.Namespace, store: Store) -> int:
    if arguments.answer is not None:
        question_id, decision = arguments.answer
        if decision not in get_args(Decision):
            raise UsageError(f"--answer needs one of {', '.join(get_args(Decision))}, not {decision!r}")
        if (decision == "allow_edited") != bool(arguments.command):
            raise UsageError("allow_edited needs --command, and nothing else takes it")
        accepted = store.questions.answer(question_id, decision, "terminal", arguments.command, arguments.note)
        if arguments.json:
            show_json({"accepted": accepted})
        else:
            show("Answered." if accepted else "Not answered: the question is settled already, or there is none.")
        return 0 if accepted else 1
    questions = store.questions.open()
    if arguments.json:
        show_json(to_builtins(questions))
    else:
        show("\n\n".join(map(page, questions)) or "Nothing is asked.")
    return 0


def _drafts(arguments: argparse.Namespace, store: Store) -> None:
    drafts = store.drafts.left()
    if arguments.drop is not None:
        if arguments.drop not in {draft.id for draft in drafts}:
            raise UsageError(f"--drop: there is no draft {arguments.drop!r}")
        store.drafts.drop(arguments.drop)
        drafts = [draft for draft in drafts if draft.id != arguments.drop]
    if arguments.json:
        show_json(to_builtins(drafts))
    else:
        texts = (f"Draft {draft.id}, session {draft.session_id}:\n{draft.message.text}" for draft in drafts)
        show("\n\n".join(texts) or "There are no drafts.")


def _whole(arguments: argparse.Namespace, store: Store) -> None:
    record = store.find(arguments.id)
    as_json = arguments.json or (arguments.action == "export" and arguments.format == "json")
    if not as_json:
        text = markdown.page(record, store.history(record.id))
    else:
        import json

        text = json.dumps(store.export(record.id), indent=2, ensure_ascii=False)
    target = getattr(arguments, "to", None)
    if not target:
        show(text)
        return
    try:
        with Path(target).open("x", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")
    except OSError as error:
        raise UsageError(f"--to {target}: {error.strerror}") from None
    show(f"written to {target}")
