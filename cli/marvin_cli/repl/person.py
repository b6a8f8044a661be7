"""The person at the terminal: the files of their profile, and what is new for them."""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from marvin_server.errors import MarvinError
from marvin_server.profiles import preferences, profile
from marvin_server.sanitise import one_line
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.profiles.profile import Subscription

_NEWS_SECONDS = 2.0


class Person:
    """Whose profile is in use; ``problems`` are lines about files that could not be read as they are."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.problems: tuple[str, ...] = ()
        self.use(settings.profile)

    def use(self, name: str) -> None:
        """Go on with the profile of this name, begun where there is none. Raises ``UsageError`` and ``OSError``."""
        paths = self._settings.paths
        self.profile = profile.create(paths, name)
        if profile.last(paths) != name:
            profile.remember(paths, name)
        self.load()

    def load(self) -> None:
        """Read the preferences as they are now."""
        self.preferences, self.problems = preferences.load(self.profile.preferences_file)

    def keep(self, line: str) -> None:
        """Remember a line that was entered, or was about to be."""
        try:
            self.profile.history.add(line)
        except OSError as error:
            logging.getLogger("marvin.cli").warning("the history cannot be written: %s", error)

    def about(self) -> str:
        """What the model is told: all preferences that are not the terminal's, and the saved places; often ""."""
        lines = [f"- {name}: {_shown(value)}" for name, value in self.preferences.about.items()]
        with suppress(MarvinError):
            lines += [
                f"- saved place {place.label}: {place.name}, {place.address}" for place in self.profile.places.read()
            ]
        return "\n".join(lines)

    async def news(self) -> list[str]:
        """What has come on the topics that the person follows, a line each; within 2 s, nothing where that fails."""
        try:
            followed = self.profile.subscriptions.read()
            if not followed:
                return []
            return await asyncio.wait_for(self._news(followed), _NEWS_SECONDS)
        except (MarvinError, TimeoutError) as error:
            logging.getLogger("marvin.cli").info("ntfy: %s", error or "no answer in time")
            return []

    async def _news(self, followed: "tuple[Subscription, ...]") -> list[str]:
        from marvin_cli import ntfy

        since = {each.topic: each.last_message_id for each in followed}
        found = await ntfy.poll(self._settings.ntfy_server, since)
        latest = {topic: messages[-1].id for topic, messages in found.items() if messages}
        if latest:

            def seen(raw: list[dict[str, object]]) -> list[dict[str, object]]:
                return [
                    {**each, "lastMessageId": latest.get(str(each["topic"]), each.get("lastMessageId"))} for each in raw
                ]

            self.profile.subscriptions.change(seen)
        return [f"🔔 {topic}: {one_line(each.text)}" for topic, messages in found.items() for each in messages]


def _shown(value: object) -> str:
    """A YAML value in a few words."""
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return one_line(str(value))
