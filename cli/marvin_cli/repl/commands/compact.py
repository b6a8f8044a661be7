"""The command that has a summary stand for the older part of the conversation."""

import re
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action
from marvin_cli.view.base import Choice
from marvin_server.sanitise import revealed
from marvin_server.session import compact_command

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop

_YES, _NO = "yes", "no"
_BUSY = "summarising"


async def _compact(loop: "Loop", typed: str) -> None:
    """Show what would go, and with ``--ask`` what would come in its place, before it goes."""
    session, say = loop.conversation.session, loop.view.say
    if typed == "undo":
        say((await session.take_back_summary()).line, "note")
        return
    focus, asks = compact_command.read(typed)
    gone = await session.older()
    say("\n".join(compact_command.plan(gone)), "output")
    if asks:
        with loop.following.working(_BUSY):
            shown = await session.compact(focus, preview=True)
        text = revealed(compact_command.shown(gone, shown)).rstrip()
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        say(f"{fence}diff\n{text}\n{fence}")
        choices = [
            Choice(_NO, "No", "the conversation stays as it is"),
            Choice(_YES, "Yes", compact_command.size(shown)),
        ]
        if await loop.choose("Let the summary stand for them?", choices) != _YES:
            say("The conversation stays as it is.", "note")
            return
    with loop.following.working(_BUSY):
        compacted = await session.compact(focus)
    say(compacted.line, "note")


ACTIONS = (
    Action(
        "compact",
        "Have a summary stand for what was said before, after it was shown",
        _compact,
        compact_command.ARGUMENT,
    ),
)
