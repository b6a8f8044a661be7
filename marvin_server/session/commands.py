"""What a person types as ``/name`` in place of a prompt, for every front-end: no model is asked, nothing is stored."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from marvin_server.errors import UsageError
from marvin_server.session import compact_command, context_command
from marvin_server.session.options import Option
from marvin_server.session.session import Session
from marvin_server.workspace.names import printable

if TYPE_CHECKING:
    from marvin_server.session.opening import OpenSession

_TYPED = re.compile(r"\s*/([a-z]+)(?:\s+(.*?))?\s*", re.DOTALL)


class Command(Struct, frozen=True):
    """``argument`` says what may follow the name, None where nothing may."""

    name: str
    description: str
    argument: str | None = None


COMMANDS = (
    Command("help", "Show the commands"),
    Command("mode", "Show what Marvin may do without asking, or change it", "[plan|review|auto|full]"),
    Command("model", "Show the model that answers, or go on with another one", "[NAME]"),
    Command("provider", "Show who answers, or go on with another provider", "[NAME]"),
    Command("thinking", "Show how much the model thinks, or change it", "[default|none|low|medium|high]"),
    Command("context", "Show what is sent with each prompt and what it costs, or change it", context_command.ARGUMENT),
    Command("compact", "Have a summary stand for what was said before", compact_command.ARGUMENT),
    Command("undo", "Take back what the latest turn has changed in files"),
    Command("redo", "Bring back what was taken back"),
    Command("usage", "Show the tokens and the money that this session, and all of them, have used"),
)


class Typed(Struct, frozen=True):
    """A command as somebody typed it; ``argument`` is what followed the name, or empty."""

    command: Command
    argument: str


class Desk(Protocol):
    """What a front-end lays out for a command to work with."""

    @property
    def session(self) -> Session: ...

    @property
    def opened(self) -> "OpenSession": ...

    async def options(self) -> Sequence[Option]:
        """What may be changed of the session."""
        ...

    async def change(self, name: str, value: str) -> None:
        """Give an option another value. Raises ``MarvinError``, with nothing changed."""
        ...

    def usage(self) -> str:
        """What the session has used and all of them, see ``Spending.report``."""
        ...


def read(text: str) -> Typed | None:
    """The command that ``text`` is; None for a prompt, which may begin with a slash too, as a path does."""
    match = _TYPED.fullmatch(text)
    command = next((each for each in COMMANDS if match and each.name == match[1]), None)
    return Typed(command, match[2] or "") if match and command else None


async def run(typed: Typed, desk: Desk, others: Sequence[Command] = ()) -> Sequence[str]:
    """Do what was typed and give the lines to be shown; ``others`` are commands that there are besides. Raises
    ``MarvinError``, with nothing done."""
    name = typed.command.name
    if typed.argument and typed.command.argument is None:
        raise UsageError(f"/{name} takes nothing after it")
    match name:
        case "help":
            every = (*COMMANDS, *others)
            return [f"/{each.name} {each.argument or ''}".rstrip() + f": {each.description}" for each in every]
        case "usage":
            return desk.usage().splitlines()
        case "context":
            return await context_command.run(desk.opened, typed.argument)
        case "compact":
            return await compact_command.run(desk.session, typed.argument)
        case "undo" | "redo":
            return await _take_back(name, desk.session)
        case _:
            if typed.argument:
                await desk.change(name, typed.argument)
            option = next(each for each in await desk.options() if each.name == name)
            return [f"{option.title}: {option.value or 'none'}"]


async def _take_back(name: str, session: Session) -> Sequence[str]:
    taken = await (session.undo() if name == "undo" else session.redo())
    done = "Taken back" if name == "undo" else "Brought back"
    lines = [f"{done}: {printable(path)}" for path in taken.applied]
    lines += [f"Left alone: {printable(failed.path)}: {failed.reason}" for failed in taken.failed]
    return [*(lines or ["Nothing changes: the files are so already."]), *taken.notes]
