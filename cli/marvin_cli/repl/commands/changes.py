"""Commands that show what Marvin has done and what it can do."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action, aligned
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


async def _tools(loop: "Loop", name: str) -> None:
    registry = loop.conversation.opened.registry
    if not name:
        rows = [
            (each.name, f"{each.toolset}: {each.description.partition(chr(10))[0]}")
            for each in registry.entries.values()
        ]
        loop.view.say(aligned(rows), "output")
        return
    entry = registry.entries.get(name)
    if entry is None:
        raise UsageError(f"there is no tool called {name}; /tools lists them")
    fields = [
        (f"  {field}", str(of.get("description", ""))) for field, of in entry.parameters.get("properties", {}).items()
    ]
    head = f"{entry.name} ({entry.toolset}, {entry.effect})\n\n{entry.description}\n"
    loop.view.say(f"{head}\n{aligned(fields)}".rstrip(), "output")


async def tools(loop: "Loop") -> Sequence[Choice]:
    """The tools that there are."""
    entries = loop.conversation.opened.registry.entries.values()
    return [Choice(each.name, each.name, each.description.partition("\n")[0]) for each in entries]


async def _context(loop: "Loop", _: str) -> None:
    provider, progress = loop.conversation.choice.provider, loop.following.progress
    standing = progress.standing(provider.name, provider.model, "", "", ())
    used, size = standing.context or (progress.used, 0)
    of_all = f" of {size:,} ({used / size:.0%})" if size else f"; how many {provider.model} reads is not known"
    loop.view.say(f"{used:,} tokens{of_all}, {progress.messages:,} messages", "output")


ACTIONS = (
    Action("diff", "Show what this session has changed in files", _diff),
    Action("tools", "List the tools, or describe one", _tools, "[NAME]", tools),
    Action("context", "Show how much of the model's context is used", _context),
)
