"""Show what is sent to the model with each prompt, with its tokens and its price: for a new session here, or one that
there is. No model is asked, and nothing is kept."""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from marvin_cli.commands import show, show_json, tell_damage
from marvin_server.errors import Auth, UsageError
from marvin_server.events import Event, Notice
from marvin_server.messages import new_id
from marvin_server.sanitise import one_line
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.providers.base import Provider
    from marvin_server.providers.selection import Choice
    from marvin_server.session.context_report import Report
    from marvin_server.session.store import SessionRecord, Store

_ROUNDS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--working-dir", metavar="DIR", default=".", help="where (default: the current folder)")
    parser.add_argument("--session", metavar="ID", help="the session with this id, or whose id begins so")
    parser.add_argument("--provider", metavar="NAME", help="who would answer")
    parser.add_argument("--model", metavar="NAME", help="the model that would be asked")
    parser.add_argument("--texts", action="store_true", help="show the texts of the blocks, too")
    parser.add_argument("--trust", action="store_true", help="as if the project's files were accepted")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    from marvin_server.session import context_report
    from marvin_server.session.store import Store

    directory = Path(arguments.working_dir)
    if not directory.is_dir():
        raise UsageError(f"--working-dir {directory}: there is no such folder")
    # Nobody is asked: what nobody has accepted is left out, as in a pipeline.
    settings = replace(
        settings,
        approve="none",
        trust=arguments.trust,
        provider=arguments.provider or settings.provider,
        model=arguments.model or settings.model,
    )
    path = settings.paths.database(settings.profile)
    with tempfile.TemporaryDirectory(prefix="marvin-context-") as folder:
        store = Store.open(path if path.exists() else Path(folder, "marvin.db"))
        try:
            report, texts = asyncio.run(_report(settings, store, directory.resolve(), arguments.session))
            tell_damage(store)
        finally:
            store.close()
    if arguments.json:
        show_json({**to_builtins(report), **({"texts": texts} if arguments.texts else {})})
        return 0
    show("\n".join(context_report.shown(report)))
    if arguments.texts:
        show("\n" + "\n\n".join(f"── {name}\n{text}" for name, text in texts.items()))
    return 0


async def _report(
    settings: Settings, store: "Store", directory: Path, resume: str | None
) -> "tuple[Report, dict[str, str]]":
    """The report, and the texts of the blocks by their names."""
    from marvin_server.session import context_report
    from marvin_server.session.opening import open_session

    def say(event: Event) -> None:
        if isinstance(event, Notice):
            sys.stderr.write(f"marvin: {one_line(event.text)}\n")

    choice = await asyncio.to_thread(_choose, settings)
    record = store.find(resume) if resume else _begun(store, directory, choice.provider)
    coding = not store.catalogue.is_chat(record.id)
    opened = open_session(settings, choice, store, directory, rounds=_ROUNDS, resume=record.id, coding=coding)
    try:
        report = await context_report.report(opened, say)
        return report, {block.name: block.text for block, _ in await opened.context.look(lambda _: None)}
    finally:
        await opened.session.close()
        await opened.ledger.aclose()
        if opened.sandbox is not None:
            opened.sandbox.close()
        if not resume:
            store.catalogue.delete(record.id)


def _choose(settings: Settings) -> "Choice":
    """Who would answer; as nobody is asked, a key may be missing. Raises as ``selection.choose`` does."""
    from marvin_server.providers import selection, vendors

    try:
        return selection.choose(settings)
    except Auth as error:
        variable = vendors.load(settings.provider or "", settings).key_variable
        if variable is None:
            raise
        sys.stderr.write(f"marvin: {one_line(str(error))} (this is what would be sent)\n")
        return selection.choose(replace(settings, environ={**settings.environ, variable: "missing"}))


def _begun(store: "Store", directory: Path, provider: "Provider") -> "SessionRecord":
    """A session as a terminal would begin it here, in no list, and gone with this process at the latest."""
    keeper = new_id()
    store.leases.take(keeper)
    is_chat = not any((folder / ".git").exists() for folder in (directory, *directory.parents))
    return store.create_session(str(directory), provider.name, provider.model, keeper=keeper, is_chat=is_chat)
