"""Commands about the terminal itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action, aligned
from marvin_cli.view.base import Choice
from marvin_server.errors import UsageError

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop

_ELSE = (
    ("!COMMAND", "run it in your own shell"),
    ("@FILE", "name a file of the workspace"),
    ("Ctrl+C", "stop what runs; twice at an empty prompt: leave"),
)


async def _help(loop: "Loop", _: str) -> None:
    from marvin_cli.repl import commands

    rows = [
        (f"/{each.name} {each.argument or ''}".rstrip(), each.description)
        for each in (await commands.known(loop)).values()
    ]
    loop.view.say(aligned([*sorted(rows), *_ELSE]), "output")


async def _quit(loop: "Loop", _: str) -> None:
    loop.leave()


async def _theme(loop: "Loop", name: str) -> None:
    name = name or await loop.choose("Theme", await _themes(loop)) or ""
    if not name:
        return
    if name not in loop.view.themes:
        raise UsageError(f"there is no theme {name!r}; there are: {', '.join(loop.view.themes)}")
    loop.view.wear(name)
    loop.view.say(f"Theme: {name} (`theme: {name}` in your preferences keeps it)")


async def _themes(loop: "Loop") -> Sequence[Choice]:
    return [Choice(each, each) for each in loop.view.themes]


ACTIONS = (
    Action("help", "Show the commands", _help),
    Action("quit", "Leave", _quit),
    Action("exit", "Leave", _quit),
    Action("theme", "Choose the colours", _theme, "[NAME]", _themes),
)
