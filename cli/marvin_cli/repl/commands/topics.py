"""Commands about the topics of the ntfy server that the person follows."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from marvin_cli.repl.commands.base import Action
from marvin_cli.view.base import Choice
from marvin_server.errors import UsageError

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop

# https://docs.ntfy.sh/publish/: what a topic's name may be.
_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")


async def _subscribe(loop: "Loop", topic: str) -> None:
    if not topic:
        followed = _followed(loop)
        server = loop.conversation.settings.ntfy_server
        if not followed:
            loop.view.say("You follow no topics; /subscribe TOPIC follows one.", "note")
        loop.view.say_rows([(each, f"{server}/{each}") for each in followed])
        return
    if not _NAME.fullmatch(topic):
        raise UsageError("a topic's name has letters, digits, '-' and '_' alone, 64 at most")

    def add(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return raw if any(each["topic"] == topic for each in raw) else [*raw, {"topic": topic}]

    loop.person.profile.subscriptions.change(add)
    loop.view.say(
        f"What comes on {topic} is shown before each of your prompts; whoever knows its name can write there", "note"
    )


async def _unsubscribe(loop: "Loop", topic: str) -> None:
    topic = topic or await loop.choose("Follow no more", await _choices(loop)) or ""
    if not topic:
        return
    if topic not in _followed(loop):
        raise UsageError(f"you do not follow {topic!r}; /subscribe lists the topics that you do")
    loop.person.profile.subscriptions.change(lambda raw: [each for each in raw if each["topic"] != topic])
    loop.view.say(f"You follow {topic} no more", "note")


def _followed(loop: "Loop") -> list[str]:
    return [each.topic for each in loop.person.profile.subscriptions.read()]


async def _choices(loop: "Loop") -> Sequence[Choice]:
    return [Choice(each, each) for each in _followed(loop)]


ACTIONS = (
    Action("subscribe", "Follow a topic of the ntfy server, or list those that you do", _subscribe, "[TOPIC]"),
    Action("unsubscribe", "Follow a topic no more", _unsubscribe, "[TOPIC]", _choices),
)
