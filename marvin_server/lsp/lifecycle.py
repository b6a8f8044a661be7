"""The life of a connection: what may be called when, and how it ends."""

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum

from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.rpc import Params
from marvin_server.protocol.errors import Code

_LOOKS_EVERY = 0.5
_log = logging.getLogger("marvin.lsp")


class Stage(Enum):
    """Where the connection stands."""

    NEW = "new"
    RUNNING = "running"
    SHUT_DOWN = "shut down"


class Lifecycle:
    """``begin`` makes the answer to ``initialize``; ``wind_down`` ends all work, within a bound of its own.

    ``ended`` is set with the exit code when the process is to leave.
    """

    def __init__(self, begin: Callable[[Params], object], wind_down: Callable[[], Awaitable[None]]) -> None:
        self.stage = Stage.NEW
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._begin = begin
        self._wind_down = wind_down
        self._winding: asyncio.Future[None] | None = None

    def admit(self, method: str) -> None:
        """Say that a method comes now. Raises ``Refusal`` where it may not; ``initialize`` and ``shutdown`` count from
        here on."""
        if method == "exit":
            return
        if self.stage is Stage.SHUT_DOWN:
            raise Refusal(Code.INVALID_REQUEST, "the server is shut down: only exit may follow")
        if self.stage is Stage.NEW and method != "initialize":
            raise Refusal(Code.NOT_INITIALIZED, "send initialize first")
        if self.stage is Stage.RUNNING and method == "initialize":
            raise Refusal(Code.INVALID_REQUEST, "initialize may be sent once only")
        if method == "initialize":
            self.stage = Stage.RUNNING
        elif method == "shutdown":
            self.stage = Stage.SHUT_DOWN

    async def initialize(self, params: Params) -> object:
        """Answer ``initialize``."""
        return self._begin(params)

    async def shutdown(self, _: Params) -> None:
        """Answer ``shutdown`` once all work has ended."""
        await self.finish()

    async def finish(self) -> None:
        """End all work, once; every caller waits for the same end."""
        if self._winding is None:
            self._winding = asyncio.ensure_future(self._wind_down())
        await asyncio.shield(self._winding)

    def leave(self) -> None:
        """``exit``, or the client is gone: without a ``shutdown`` before that is a failure."""
        self.end(0 if self.stage is Stage.SHUT_DOWN else 1)

    def end(self, code: int) -> None:
        """Leave with this exit code, unless the process is leaving already."""
        if not self.ended.done():
            self.ended.set_result(code)

    def watch(self, process_id: int) -> None:
        """Leave when that process is gone, since its end of the pipe may live on in a child of its own. A process that
        is not there now was named from another machine or container."""
        if not _lives(process_id):
            return
        end = _end_of(process_id)
        if end is None:
            self._look(process_id)
        else:
            asyncio.get_running_loop().add_reader(end, self._let_go, end, process_id)

    def _look(self, process_id: int) -> None:
        if _lives(process_id):
            asyncio.get_running_loop().call_later(_LOOKS_EVERY, self._look, process_id)
        else:
            self._lost(process_id)

    def _let_go(self, end: int, process_id: int) -> None:
        asyncio.get_running_loop().remove_reader(end)
        os.close(end)
        self._lost(process_id)

    def _lost(self, process_id: int) -> None:
        if not self.ended.done():
            _log.warning("the client's process %d is gone", process_id)
            self.leave()


def _end_of(process_id: int) -> int | None:
    """A descriptor that can be read once the process has ended, where the system has such."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.pidfd_open(process_id)
    return None


def _lives(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
