"""Tells a person who has looked away that a long turn has ended."""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable, Coroutine, Mapping

from marvin_cli import ntfy
from marvin_server.events import TurnFinished
from marvin_server.profiles.preferences import Preferences
from marvin_server.sanitise import one_line

# Terminals that show OSC 9 (ESC ] 9 ; text BEL) as a notification; in others it may do something else.
_SHOWS_OSC_9 = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_SECONDS = 5.0
_LONGEST = 200


class Notification:
    """``preferences`` gives how the person wants it now; ``publish`` is a server and a topic of ntfy for every turn."""

    def __init__(
        self,
        preferences: Callable[[], Preferences],
        environ: Mapping[str, str],
        publish: tuple[str, str] | None,
    ) -> None:
        self._preferences = preferences
        self._environ = environ
        self._publish = publish
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, event: TurnFinished, answer: str, seconds: float) -> None:
        """A turn that took so long has ended with this answer."""
        title, text = f"Marvin: {event.stop_reason}", one_line(answer, _LONGEST) or "(no answer)"
        if self._publish is not None:
            self._start(self._published(*self._publish, title, text))
        wanted = self._preferences()
        if wanted.notify == "off" or seconds < wanted.notify_after:
            return
        if os.isatty(1):
            is_shown = self._environ.get("TERM_PROGRAM") in _SHOWS_OSC_9
            os.write(1, f"\x1b]9;{title}: {text}\a".encode("utf-8", "replace") if is_shown else b"\a")
        has_screen = self._environ.get("WAYLAND_DISPLAY") or self._environ.get("DISPLAY")
        program = shutil.which("notify-send", path=self._environ.get("PATH"))
        if wanted.notify == "desktop" and has_screen and program:
            self._start(self._notify(program, title, text))

    async def settle(self) -> None:
        """Wait for what is still under way; every part of it is bounded."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _published(self, server: str, topic: str, title: str, text: str) -> None:
        if problem := await ntfy.publish(server, topic, title, text):
            logging.getLogger("marvin.cli").warning("ntfy: %s: %s", topic, problem)

    async def _notify(self, program: str, title: str, text: str) -> None:
        process = await asyncio.create_subprocess_exec(
            program,
            "--app-name=marvin",
            "--",
            title,
            text,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(process.wait(), _SECONDS)
        except TimeoutError:
            process.kill()
