"""``python -m tests.session.long_talk URL FOLDER TURNS`` talks so long in one session, and prints how its memory goes.

Each line of output is a JSON list: the turns so far, resident memory in KiB, messages counted for each message of the
conversation.
"""

import asyncio
import cProfile
import dataclasses
import json
import pstats
import sys
from pathlib import Path

from marvin_server import settings
from marvin_server.agent.budget import message_tokens
from marvin_server.events import TurnFinished
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.store import Store
from tests.providers.wire_apis import OPENAI_CHAT

_EVERY = 250
_WORDS = "some words of a story that goes on and on, " * 60


async def main(url: str, folder: Path, turns: int) -> None:
    environ = {"MARVIN_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    loaded = dataclasses.replace(settings.load({}, environ), trust=True)
    store = Store.open(folder / "marvin.db")
    profile = cProfile.Profile()
    async with OPENAI_CHAT.connected(url) as provider:
        opened = open_session(loaded, Choice(provider, free=True), store, folder / "workspace", rounds=10)
        subscription = opened.session.subscribe()
        profile.enable()
        for number in range(1, turns + 1):
            opened.session.submit(f"Part {number}: {_WORDS}")
            async for _, event in subscription:
                if isinstance(event, TurnFinished):
                    assert event.stop_reason == "completed", event
                    break
            if number % _EVERY == 0:
                print(json.dumps([number, _resident(), _counted(profile) / (2 * number)]), flush=True)
        await opened.session.close()
    store.close()


def _resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _counted(profile: cProfile.Profile) -> int:
    code = message_tokens.__code__
    stats = pstats.Stats(profile).stats  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    profile.enable()
    return stats[code.co_filename, code.co_firstlineno, code.co_name][1]  # pyright: ignore[reportUnknownVariableType]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
