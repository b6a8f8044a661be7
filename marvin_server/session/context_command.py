"""What a person types after ``/context``, and what comes of it."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_server.errors import UsageError
from marvin_server.events import Event, Notice
from marvin_server.session import context_report

if TYPE_CHECKING:
    from marvin_server.session.opening import OpenSession

ARGUMENT = "[pin PATH…|drop NAME|restore NAME]"


async def run(opened: "OpenSession", typed: str) -> Sequence[str]:
    """Change what the prompt holds as was typed, from the next turn on, and give the report as lines. Raises
    ``UsageError``, with nothing changed."""
    action, _, rest = typed.partition(" ")
    rest = rest.strip()
    if typed and (action not in ("pin", "drop", "restore") or not rest):
        raise UsageError(f"/context shows what is sent; /context {ARGUMENT} changes it")
    if action == "pin":
        try:
            paths = shlex.split(rest)
        except ValueError as error:
            raise UsageError(f"/context pin: {error}") from None
        await opened.context.pin(paths)
    elif action == "drop":
        await opened.context.drop(rest)
    elif action == "restore":
        opened.context.restore(rest)
    notices: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    return [*context_report.shown(await context_report.report(opened, hear)), *notices]
