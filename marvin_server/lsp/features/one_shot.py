"""``marvin/oneShot``, and the actions themselves: what each is called, what the model is told, and what comes of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from marvin_server.errors import UsageError
from marvin_server.lsp import folders
from marvin_server.lsp.features import sessions
from marvin_server.lsp.refusals import Refusal
from marvin_server.protocol.context import Diagnostic
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
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}
_MOST_DIAGNOSTICS = 50


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
            "Write the message of a git commit with the changes that are staged, or with all changes where none are: "
            "git_diff shows them. A first line of at most 72 characters in the style of the repository's log, an empty "
            "line, and why it was done where that is not plain. Answer with the message alone, without a fence around "
            f"it. {_ONLY_SAY}",
            edits=False,
        ),
        "ask": Kind("Ask", "marvin.ask", "Answer this about the code.", edits=False),
    }
)


class Subject(Struct, frozen=True):
    """What an action is about: a file, or the ``range`` of it, with what other servers say of that."""

    path: Path
    range: Range | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def lines(self) -> str:
        """``:4-9``, counted from 1; empty where it is all of the file."""
        if self.range is None:
            return ""
        first, last = self.range.start.line + 1, self.range.end.line + 1
        # A range that ends before the first character of a line does not hold any of it.
        last = max(first, last - (self.range.end.character == 0))
        return f":{first}" if first == last else f":{first}-{last}"


async def one_shot(server: "Server", params: dict[str, Any]) -> OneShotResult:
    """Do one action, in a session of its own or in the one that is named."""
    asked = read(params, OneShotParams)
    subject = Subject(folders.path(asked.uri), asked.range)
    document = server.documents.find(asked.uri)
    if asked.version is not None and document is not None and document.version != asked.version:
        text = f"{asked.uri!r} has version {document.version} here: send its didChange, then this again"
        raise Refusal(Code.STALE_VERSION, text, retryable=True)
    if asked.action == "ask" and not (asked.instruction or "").strip():
        raise UsageError("instruction: it is missing; the action ask needs one")
    session_id = asked.session_id
    if session_id is None:
        folder = server.folder(subject.path)
        made = await sessions.new(server, {"cwd": str(folder), "title": title(asked.action, subject)})
        session_id = made.session.id
    live = server.sessions.get(session_id)
    folder = Path(server.sessions.record(session_id).cwd)
    async with live.lock:
        session = await server.opened(live)
        if session.running is not None:
            raise Refusal(Code.TURN_ACTIVE, "a turn is running: wait for it, or cancel it", retryable=True)
        return OneShotResult(live.id, session.submit(prompt(asked.action, subject, folder, asked.instruction)))


def title(action: Action, subject: Subject) -> str:
    """What the action is called: ``Explain basket.py:4-9``."""
    name = KINDS[action].title
    return name if action == "commitMessage" else f"{name} {one_line(subject.path.name, 80)}{subject.lines}"


def prompt(action: Action, subject: Subject, folder: Path, instruction: str | None = None) -> str:
    """What the model is told; paths are relative to ``folder``, the session's own."""
    parts = [KINDS[action].task]
    if action != "commitMessage":
        path = subject.path.relative_to(folder) if subject.path.is_relative_to(folder) else subject.path
        parts.append(f"It is about {path}{subject.lines}.")
    parts += _problems(subject.diagnostics)
    if instruction and instruction.strip():
        parts.append(instruction.strip())
    return "\n\n".join(parts)


def _problems(diagnostics: Sequence[Diagnostic]) -> list[str]:
    lines = [
        f"- line {each.range.start.line + 1}: {_SEVERITIES.get(each.severity or 1, 'error')}: "
        f"{one_line(each.message, 500)}" + (f" ({one_line(each.source, 80)})" if each.source else "")
        for each in diagnostics[:_MOST_DIAGNOSTICS]
    ]
    if left := len(diagnostics) - len(lines):
        lines.append(f"- and {left} more")
    return ["The editor shows these problems there:\n" + "\n".join(lines)] if lines else []
