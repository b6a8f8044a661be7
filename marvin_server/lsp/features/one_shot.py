"""``marvin/oneShot``, and the actions themselves: what each is called, what the model is told, and what comes of it."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from marvin_server.errors import MarvinError, PermissionNeeded, UsageError
from marvin_server.lsp import context, folders, opening, sources
from marvin_server.lsp.features import sessions
from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.sources import Sources
from marvin_server.messages import Message, user_message
from marvin_server.protocol.context import (
    BufferContext,
    Context,
    Diagnostic,
    DiagnosticsContext,
    GitDiffContext,
    SelectionContext,
)
from marvin_server.protocol.errors import Code
from marvin_server.protocol.places import Range
from marvin_server.protocol.reading import read
from marvin_server.protocol.turns import Action, OneShotParams, OneShotResult
from marvin_server.sanitise import one_line

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_ONLY_SAY = "Change no file and run no command."
_IN_PLACE = "Change the file itself, with apply_patch, and nothing that this does not need."
_THEN_SAY = "Then say in one or two sentences what you did."


class Kind(Struct, frozen=True):
    """``title`` is what a person chooses, ``code_action`` LSP's kind of it, ``task`` what the model is told.

    One that ``edits`` changes files; of the others the answer is what was asked for.
    """

    title: str
    code_action: str
    task: str
    edits: bool = True


KINDS: Mapping[Action, Kind] = MappingProxyType(
    {
        "explain": Kind(
            "Explain",
            "marvin.explain",
            "Explain this code to someone who has to work on it: what it is for, how it works, and what in it is "
            f"surprising or wrong. {_ONLY_SAY}",
            edits=False,
        ),
        "fix": Kind(
            "Fix", "quickfix", f"Fix what is wrong in this code: the cause, not the signs. {_IN_PLACE} {_THEN_SAY}"
        ),
        "test": Kind(
            "Write tests",
            "marvin.test",
            f"Write tests for this code where the project keeps its tests, in the way that it writes them. {_THEN_SAY}",
        ),
        "document": Kind(
            "Document",
            "refactor.rewrite.marvin.document",
            "Write the documentation that this code lacks, as comments or docstrings in the style of the file. "
            f"{_IN_PLACE} {_THEN_SAY}",
        ),
        "refactor": Kind(
            "Refactor",
            "refactor.rewrite.marvin",
            f"Make this code simpler and clearer without changing what it does. {_IN_PLACE} {_THEN_SAY}",
        ),
        "commitMessage": Kind(
            "Commit message",
            "source.marvin",
            "Write the message of a git commit with the changes that are staged, or with all changes where none are. "
            "A first line of at most 72 characters in the style of the repository's log, an empty "
            "line, and why it was done where that is not plain. Answer with the message alone, without a fence around "
            f"it. {_ONLY_SAY}",
            edits=False,
        ),
        "ask": Kind("Ask", "marvin.ask", "Answer this about the code.", edits=False),
    }
)


class Subject(Struct, frozen=True):
    """What an action is about: a file, as it is named, or the ``range`` of it, with what other servers say of that."""

    path: Path
    range: Range | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def lines(self) -> str:
        """``:4-9``, counted from 1; empty where it is all of the file."""
        return "" if self.range is None else f":{context.numbers(self.range)}"


async def one_shot(server: "Server", params: dict[str, Any]) -> OneShotResult:
    """Do one action, in a session of its own or in the one that is named."""
    asked = read(params, OneShotParams)
    subject = Subject(folders.named(asked.uri), asked.range)
    if asked.action == "ask" and not (asked.instruction or "").strip():
        raise UsageError("instruction: it is missing; the action ask needs one")
    session_id = asked.session_id
    if session_id is None:
        folder = server.folder(folders.path(asked.uri))
        made = await sessions.new(server, {"cwd": str(folder), "title": title(asked.action, subject)})
        session_id = made.session.id
    try:
        return await _begin(server, session_id, asked, subject)
    except (Refusal, MarvinError):
        if asked.session_id is None:
            await sessions.delete(server, {"sessionId": session_id})
        raise


async def _begin(server: "Server", session_id: str, asked: OneShotParams, subject: Subject) -> OneShotResult:
    live = server.sessions.get(session_id)
    async with live.lock:
        session = await opening.ready(server, live)
        if session.running is not None:
            raise Refusal(Code.TURN_ACTIVE, "a turn is running: wait for it, or cancel it", retryable=True)
        told = await prompt(asked.action, subject, sources.of(server, live), asked.version, asked.instruction)
        return OneShotResult(live.id, session.submit(told))


def title(action: Action, subject: Subject) -> str:
    """What the action is called: ``Explain basket.py:4-9``."""
    name = KINDS[action].title
    return name if action == "commitMessage" else f"{name} {one_line(subject.path.name, 80)}{subject.lines}"


async def prompt(
    action: Action, subject: Subject, where: Sources, version: int | None = None, instruction: str | None = None
) -> Message:
    """What the model is told, the text that the action is about included; ``version`` is the document's that the client
    means, None for the one that is known here. Raises as ``context.added`` does, and ``ToolError``."""
    parts = [KINDS[action].task]
    if action != "commitMessage":
        parts.append(f"It is about {context.called(subject.path.as_uri(), where)}{subject.lines}.")
    if instruction and instruction.strip():
        parts.append(instruction.strip())
    asked = await _changes(where) if action == "commitMessage" else _place(subject, where, version)
    if action == "commitMessage" and not asked:
        parts.append("git_diff shows the changes.")
    added, _ = await context.added(asked, where)
    return user_message("\n\n".join(parts), added=added)


async def _changes(where: Sources) -> tuple[Context, ...]:
    """What is to be committed; nothing where the person must be asked first, which ``git_diff`` does."""
    try:
        return (GitDiffContext(staged=bool(await where.diff(None, True))),)
    except PermissionNeeded:
        return ()


def _place(subject: Subject, where: Sources, version: int | None) -> tuple[Context, ...]:
    """The text itself, and what is said of it; of a file that is protected no text, since ``read_file`` asks first."""
    uri = subject.path.as_uri()
    document = where.documents.find(uri)
    told: list[Context] = []
    if folders.protection(uri) is None:
        known = version if version is not None else document.version if document else 0
        place = subject.range
        told.append(BufferContext(uri, known) if place is None else SelectionContext(uri, known, place))
    if subject.diagnostics:
        told.append(DiagnosticsContext(uri, subject.diagnostics))
    return tuple(told)
