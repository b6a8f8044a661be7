"""``!COMMAND`` and shell mode: the person's own commands, run with their own rights where they are."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from marvin_server.errors import MarvinError
from marvin_server.workspace.process import Processes, shell_argv

# Lines that are shown as they come; of what follows, the last ones at the end.
_SHOWN, _LAST = 1_000, 50
_LONGEST_LINE = 10_000


class Shell:
    """Commands in ``directory``, which ``cd`` changes, with the variables of ``environ``; ``say`` gets their output in
    whole lines, bounded."""

    def __init__(self, directory: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
        self.directory = directory
        self._environ = environ
        self._say = say
        self._processes = Processes()
        self._one_by_one = asyncio.Lock()
        self._running: asyncio.Task[str] | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    async def run(self, command: str) -> str:
        """Run it to its end, after those before it, and give a line on that, or "" where all went well. Raises
        ``MarvinError``."""
        async with self._one_by_one:
            words = command.split()
            if words[:1] == ["cd"] and len(words) <= 2:
                return self._go_to(words[1] if len(words) == 2 else "~")
            self._running = asyncio.create_task(self._run(command))
            try:
                return await self._running
            except asyncio.CancelledError:
                if self._running.cancelled():
                    return "[Cancelled]"
                raise
            finally:
                self._running = None

    def cancel(self) -> None:
        """End the command that runs, with all that it has started."""
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """As ``cancel``, and wait for the end."""
        if (task := self._running) is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self, command: str) -> str:
        lines = _Lines(self._say)
        environ = {**self._environ, "PWD": str(self.directory)}
        argv = shell_argv(command, environ)
        try:
            done = await self._processes.run(
                argv, cwd=self.directory, environ=environ, timeout=None, emit=lines.take, limit=1
            )
        finally:
            lines.end()
        if done.exit_code == 0:
            return ""
        return (
            f"exit code {done.exit_code}" if (done.exit_code or 0) > 0 else f"ended by signal {-(done.exit_code or 0)}"
        )

    def _go_to(self, place: str) -> str:
        home = self._environ.get("HOME", "~")
        path = Path(os.path.normpath(self.directory / place.replace("~", home, 1 if place.startswith("~") else 0)))
        if not path.is_dir():
            raise MarvinError(f"cd: {place}: there is no such folder")
        self.directory = path
        return str(path)


class _Lines:
    """Output cut into lines: the first ones go on at once, of the rest only the last are kept."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._open = ""
        self._count = 0
        self._kept: deque[str] = deque(maxlen=_LAST)

    def take(self, text: str) -> None:
        *whole, self._open = (self._open + text).split("\n")
        room = max(0, _SHOWN - self._count)
        if whole[:room]:
            self._say("\n".join(line[:_LONGEST_LINE] for line in whole[:room]))
        self._kept.extend(line[:_LONGEST_LINE] for line in whole[room:])
        self._count += len(whole)
        if len(self._open) > _LONGEST_LINE:
            self.take("\n")

    def end(self) -> None:
        if self._open:
            self.take("\n")
        if (missing := self._count - _SHOWN - len(self._kept)) > 0:
            self._say(f"[… {missing:,} lines left out …]")
        if self._kept:
            self._say("\n".join(self._kept))
