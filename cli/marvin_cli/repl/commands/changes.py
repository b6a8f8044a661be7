"""Commands that show what Marvin has done and what it can do."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action
from marvin_cli.view.base import Choice
from marvin_server.errors import UsageError
from marvin_server.sanitise import revealed

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop


async def _diff(loop: "Loop", _: str) -> None:
    from marvin_server.session import differences
    from marvin_server.session.undo import checkpoints_of

    conversation = loop.conversation
    steps = conversation.store.steps.all(session_id=conversation.session.id)
    text = await asyncio.to_thread(differences.of_steps, steps, partial(checkpoints_of, conversation.settings))
    if not text:
        loop.view.say("Nothing was changed in this session.", "note")
        return
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    loop.view.say(f"{fence}diff\n{revealed(text).rstrip()}\n{fence}")


async def _review(loop: "Loop", _: str) -> None:
    if not loop.following.reviewing.pending:
        loop.view.say("Nothing waits for your review.", "note")
    await loop.following.reviewing.all()


async def _tools(loop: "Loop", name: str) -> None:
    registry = loop.conversation.opened.registry
    if not name:
        rows = [
            (each.name, f"{each.toolset}: {each.description.partition(chr(10))[0]}")
            for each in registry.entries.values()
        ]
        loop.view.say_rows(rows)
        return
    entry = registry.entries.get(name)
    if entry is None:
        raise UsageError(f"there is no tool called {name}; /tools lists them")
    fields = [(field, str(of.get("description", ""))) for field, of in entry.parameters.get("properties", {}).items()]
    loop.view.say(f"{entry.name} ({entry.toolset}, {entry.effect})\n\n{entry.description}\n", "output")
    loop.view.say_rows(fields)


async def tools(loop: "Loop") -> Sequence[Choice]:
    """The tools that there are."""
    entries = loop.conversation.opened.registry.entries.values()
    return [Choice(each.name, each.name, each.description.partition("\n")[0]) for each in entries]


ACTIONS = (
    Action("diff", "Show what this session has changed in files", _diff),
    Action("review", "Decide hunk by hunk on what was changed: keep it or reject it", _review),
    Action("tools", "List the tools, or describe one", _tools, "[NAME]", tools),
)
