"""Puts a session together from settings: store, provider, tools, workspace and the rules that hold in it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from marvin_server.agent.compactor import Compactor
from marvin_server.providers.selection import Choice, names
from marvin_server.sanitise import one_line
from marvin_server.session.composition import Composition
from marvin_server.session.context import Context
from marvin_server.session.ledger import Ledger
from marvin_server.session.session import Session
from marvin_server.session.store import SessionRecord, Store
from marvin_server.session.toolbox import SessionToolbox
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings
from marvin_server.tools.registry import Registry
from marvin_server.workspace.process import Processes
from marvin_server.workspace.sandbox_session import SessionSandbox

if TYPE_CHECKING:
    from marvin_server.workspace.editor import Editor


class OpenSession(Struct, frozen=True):
    """A session with what its front-end has to know and to end: the processes that it started, and its models;
    ``context`` is what the model is told before the conversation.

    ``go_on_with`` lets other settings hold: ``mode`` from the next tool call on, ``thinking`` from the next turn on,
    nothing else of them; and the choice, where one is given, answers from the next turn on. With mode plan, open
    questions are denied, and nothing is made of a patch that waits for its review.
    ``warnings`` are lines for the person about tools and rules that were left out.
    """

    session: Session
    processes: Processes
    ledger: Ledger
    registry: Registry
    context: Context
    toolbox: SessionToolbox
    compactor: Compactor
    sandbox: SessionSandbox | None
    go_on_with: Callable[[Settings, Choice | None], None]
    warnings: tuple[str, ...] = ()

    @property
    def tally(self) -> Tally:
        """What this run of the session has used."""
        return self.ledger.tally


def open_session(
    settings: Settings,
    choice: Choice,
    store: Store,
    directory: Path,
    *,
    rounds: int,
    resume: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
    editor: "Editor | None" = None,
    can_review: bool = False,
    coding: bool = True,
    parent: Ledger | None = None,
) -> OpenSession:
    """A session in ``directory``: a new one, or the one whose id is ``resume``.

    ``rounds`` is the limit where the settings have none. ``editor`` has open files, whose texts count more than those
    on disk; with one, call this in the event loop. ``can_review``: somebody can answer for each hunk of a patch, by
    ``Session.resolve``; without that, mode review asks about each edit as a whole. Outside ``coding`` mode the model is
    told what was said in other conversations outside it. ``parent`` is the ledger of the session that this one works
    for. Raises ``StoreError`` and ``UsageError``.
    """
    record = _record(store, choice, directory, resume, coding=coding)
    ledger = Ledger(settings, store, record.id, choice, parent)
    ledger.check()
    parts = Composition(
        settings,
        store,
        record,
        ledger,
        directory,
        rounds=rounds,
        output_schema=output_schema,
        editor=editor,
        can_review=can_review,
        coding=coding,
    )
    warnings = (
        *parts.registry.warnings,
        *(parts.rules.warnings if parts.rules else ()),
        *_oddities(settings, parts.registry, record, directory),
        *(_left_behind(store, record) if resume is not None else ()),
    )
    return OpenSession(
        parts.session,
        parts.processes,
        ledger,
        parts.registry,
        parts.context,
        parts.toolbox,
        parts.compactor,
        parts.sandbox,
        parts.go_on_with,
        warnings,
    )


def _record(store: Store, choice: Choice, directory: Path, resume: str | None, *, coding: bool) -> SessionRecord:
    if resume is None:
        return store.create_session(str(directory), choice.provider.name, choice.provider.model, is_chat=not coding)
    record = store.find(resume)
    if coding:
        store.catalogue.keep_in_place(record.id)
    return record


def _oddities(settings: Settings, registry: Registry, record: SessionRecord, directory: Path) -> Iterator[str]:
    """What the person may not have meant."""
    known = {"core", "all", *registry.toolsets()}
    for name in settings.tools:
        if name not in known:
            yield f"there is no toolset called {name}; known: {', '.join(sorted(known))}"
    for name in settings.fallback or ():
        if name not in names(settings):
            yield f"fallback: there is no provider called {name}; it is passed over"
    if record.cwd != str(directory):
        yield f"this session began in {record.cwd}; it goes on in {directory}"


def _left_behind(store: Store, record: SessionRecord) -> Iterator[str]:
    """The prompts that waited for their turn when their process ended."""
    for draft in store.drafts.left(record.id):
        yield f"this was queued and never started: {one_line(draft.message.text, 80)!r} (marvin sessions drafts)"
