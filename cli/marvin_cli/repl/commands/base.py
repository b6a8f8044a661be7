"""What a command of the terminal is."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_cli.view.base import Choice

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


_WIDEST = 28


class Action(Struct, frozen=True):
    """``run`` gets what followed the name, or "", and raises ``MarvinError``. ``argument`` says what may follow, None
    where nothing may; ``choices`` gives what that can be, where it is one of several."""

    name: str
    description: str
    run: "Callable[[Loop, str], Awaitable[None]]"
    argument: str | None = None
    choices: "Callable[[Loop], Awaitable[Sequence[Choice]]] | None" = None


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Rows of two columns, the second as wide as it likes; a long first one pushes its own second one aside."""
    width = max((len(first) for first, _ in rows if len(first) <= _WIDEST), default=0)
    return "\n".join(f"{first.ljust(width)}  {second}".rstrip() for first, second in rows)
