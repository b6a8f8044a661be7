"""What a command of the terminal is."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_cli.view.base import Choice

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


class Action(Struct, frozen=True):
    """``run`` gets what followed the name, or "", and raises ``MarvinError``. ``argument`` says what may follow, None
    where nothing may; ``choices`` gives what that can be, where it is one of several."""

    name: str
    description: str
    run: "Callable[[Loop, str], Awaitable[None]]"
    argument: str | None = None
    choices: "Callable[[Loop], Awaitable[Sequence[Choice]]] | None" = None
