"""``!COMMAND`` and shell mode: the person's own commands, run with their own rights where they are."""

import asyncio
import os
import shlex
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from marvin_server.workspace.process import Processes, shell_argv

# Lines that are shown as they come; of what follows, the last ones at the end.
_SHOWN, _LAST = 1_000, 50
_LONGEST_LINE = 10_000
_LONGEST_PATH = 4096
# The shell writes where it is at its end into a descriptor.
_TELLING = "trap 'pwd -P 2>/dev/null >/dev/fd/{}' EXIT; eval {}"


class Shell:
    """Commands in ``directory``, where the one before has ended, with the variables of ``environ``; ``say`` gets their
    output in whole lines, bounded."""

    def __init__(self, directory: Path, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
        self.directory = self._before = directory
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
        environ = {**self._environ, "PWD": str(self.directory), "OLDPWD": str(self._before)}
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        try:
            done = await self._processes.run(
                shell_argv(_TELLING.format(write_end, shlex.quote(command)), environ),
                cwd=self.directory,
                environ=environ,
                timeout=None,
                emit=lines.take,
                pass_fds=[write_end],
                limit=1,
            )
            with suppress(BlockingIOError):
                self._follow(os.read(read_end, _LONGEST_PATH))
        finally:
            os.close(read_end)
            os.close(write_end)
            lines.end()
        if done.exit_code == 0:
            return ""
        return (
            f"exit code {done.exit_code}" if (done.exit_code or 0) > 0 else f"ended by signal {-(done.exit_code or 0)}"
        )

    def _follow(self, told: bytes) -> None:
        """Be where the shell was at its end."""
        path = Path(os.fsdecode(told.removesuffix(b"\n")))
        if path != self.directory.resolve() and path.is_absolute() and path.is_dir():
            self._before, self.directory = self.directory, path
            self._say(f"now in {path}")


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
