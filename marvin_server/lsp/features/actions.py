"""``textDocument/codeAction`` and ``workspace/executeCommand``: Marvin's actions, for any client."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from marvin_server.errors import UsageError
from marvin_server.lsp import folders
from marvin_server.lsp.features.one_shot import KINDS, Kind, Subject
from marvin_server.protocol.base import FromClient
from marvin_server.protocol.context import Diagnostic
from marvin_server.protocol.places import Range
from marvin_server.protocol.reading import read
from marvin_server.protocol.turns import Action
from marvin_server.protocol.wire import to_wire

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_PREFIX = "marvin."
_AUTOMATIC = 2
OFFERED: tuple[Action, ...] = ("explain", "fix", "test", "document", "refactor", "commitMessage")
COMMANDS = tuple(f"{_PREFIX}{action}" for action in OFFERED)
CAPABILITIES: Mapping[str, Any] = MappingProxyType(
    {
        "codeActionProvider": {"codeActionKinds": [KINDS[action].code_action for action in OFFERED]},
        "executeCommandProvider": {"commands": list(COMMANDS), "workDoneProgress": True},
    }
)


class _Identifier(FromClient, frozen=True):
    uri: str


class _CodeActionContext(FromClient, frozen=True):
    """LSP's ``CodeActionContext``; the diagnostics are read one by one."""

    diagnostics: tuple[Any, ...] = ()
    only: tuple[str, ...] | None = None
    trigger_kind: int | None = None


class _CodeActionParams(FromClient, frozen=True):
    """LSP's ``CodeActionParams``."""

    text_document: _Identifier
    range: Range
    context: _CodeActionContext = _CodeActionContext()


class _CommandParams(FromClient, frozen=True):
    """LSP's ``ExecuteCommandParams``."""

    command: str
    arguments: tuple[Any, ...] = ()
    work_done_token: int | str | None = None


class _About(FromClient, frozen=True):
    """The argument of a command."""

    uri: str
    range: Range | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


async def code_action(server: "Server", params: dict[str, Any]) -> list[dict[str, Any]]:
    """What can be done here, at once and without asking a model: each is a command that does it when it is chosen.

    An editor that asks by itself, whenever the cursor moves, is only offered Fix where there is something to fix.
    """
    asked = read(params, _CodeActionParams)
    context = asked.context
    about = Subject(folders.named(asked.text_document.uri), asked.range, _diagnostics(context.diagnostics))
    offered: list[Action] = [action for action in OFFERED if _is_wanted(KINDS[action].code_action, context.only)]
    if context.trigger_kind == _AUTOMATIC:
        offered = [action for action in offered if action == "fix" and about.diagnostics]
    has_history = await asyncio.to_thread(_is_in_repository, server.folder(folders.path(asked.text_document.uri)))
    takes_literals = server.client.can("textDocument", "codeAction", "codeActionLiteralSupport")
    takes_disabled = takes_literals and server.client.can("textDocument", "codeAction", "disabledSupport")
    told: list[dict[str, Any]] = []
    for action in offered:
        disabled = _disabled(server, action, has_history=has_history)
        if disabled is None or takes_disabled:
            command = _command(action, asked, about)
            told.append(_literal(action, command, asked, disabled) if takes_literals else command)
    return told


async def execute(server: "Server", params: dict[str, Any]) -> Any:
    """Begin what the command says, and answer with the ids of its session and its turn."""
    asked = read(params, _CommandParams)
    action: Action | None = next((each for each in OFFERED if asked.command == f"{_PREFIX}{each}"), None)
    if action is None:
        raise UsageError(f"there is no command {asked.command!r}; there are {', '.join(COMMANDS)}")
    given = asked.arguments[0] if asked.arguments else None
    if isinstance(given, Mapping):
        about = read(given, _About)  # pyright: ignore[reportUnknownArgumentType]
        subject = Subject(folders.named(about.uri), about.range, about.diagnostics)
        folder = server.folder(folders.path(about.uri))
    elif action == "commitMessage":
        folder = server.folder(None)
        subject = Subject(folder)
    else:
        raise UsageError(f"{asked.command} needs a place in a file: choose it from the code actions there")
    return to_wire(await server.conversations.start(folder, action, subject, asked.work_done_token))


def _is_wanted(kind: str, only: tuple[str, ...] | None) -> bool:
    """Whether a client that asks for kinds ``only`` wants this one; a kind holds those that it is the beginning of."""
    return only is None or any(each in ("", kind) or kind.startswith(f"{each}.") for each in only)


def _disabled(server: "Server", action: Action, *, has_history: bool) -> str | None:
    """Why the action cannot be done here, None where it can."""
    settings = server.sessions.settings
    if action == "commitMessage" and not has_history:
        return "the folder is not in a git repository"
    if KINDS[action].edits and (settings.readonly or settings.mode == "plan"):
        return "nothing is changed in mode plan"
    return None


def _command(action: Action, asked: _CodeActionParams, about: Subject) -> dict[str, Any]:
    """LSP's ``Command``."""
    argument: dict[str, Any] = {"uri": asked.text_document.uri, "range": to_wire(asked.range)}
    if action == "fix":
        argument["diagnostics"] = [to_wire(each) for each in about.diagnostics]
    return {"title": _menu(KINDS[action]), "command": f"{_PREFIX}{action}", "arguments": [argument]}


def _literal(action: Action, command: dict[str, Any], asked: _CodeActionParams, disabled: str | None) -> dict[str, Any]:
    """LSP's ``CodeAction`` with this command."""
    literal: dict[str, Any] = {
        "title": command["title"],
        "kind": KINDS[action].code_action,
        "command": command,
    }
    if action == "fix" and asked.context.diagnostics:
        literal["diagnostics"] = list(asked.context.diagnostics)
    if disabled is not None:
        literal["disabled"] = {"reason": disabled}
    return literal


def _menu(kind: Kind) -> str:
    return f"Marvin: {kind.title}"


def _diagnostics(given: tuple[Any, ...]) -> tuple[Diagnostic, ...]:
    """Those that are as LSP has them; an editor's own oddities are no reason to offer nothing."""
    known: list[Diagnostic] = []
    for each in given:
        try:
            known.append(read(each, Diagnostic))
        except (UsageError, AttributeError):
            continue
    return tuple(known)


def _is_in_repository(folder: Path) -> bool:
    return any((parent / ".git").exists() for parent in (folder, *folder.parents))
