"""The engine behind ``local``: llama.cpp's server in a child process, on loopback, for its owner alone."""

import asyncio
import contextlib
import json
import re
import secrets
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Self

from marvin_server.errors import BadRequest, TimedOut, Unreachable

_SCRIPT = Path(__file__).with_name("local_child.py")
_LONGEST = 300
_LOG_PREFIX = re.compile(r"^[\d.]+ E +")


class Engine:
    """A running engine: ``url`` is the base URL of its OpenAI-style API, ``key`` the key that it asks for.

    It ends when it is stopped, and when this process ends, even by SIGKILL.
    """

    def __init__(self, process: Process, url: str, key: str, resources: AsyncExitStack) -> None:
        self.url = url
        self.key = key
        self._process = process
        self._resources = resources

    @classmethod
    async def start(cls, model: Path, *, name: str, context: int, seconds: float, environ: Mapping[str, str]) -> Self:
        """Load a GGUF file and serve it under ``name`` with at most ``context`` tokens, ready within ``seconds``.

        Raises ``BadRequest`` with the engine's own reason when it cannot be served, ``TimedOut`` and ``Unreachable``.
        """
        key = secrets.token_urlsafe(32)
        async with AsyncExitStack() as resources:
            log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the engine
            resources.callback(log.close)
            process = await _spawn(log, environ)
            resources.push_async_callback(_end, process)
            wanted = {"model": str(model), "name": name, "context": context, "key": key}
            try:
                async with asyncio.timeout(seconds):
                    address = await _tell(process, json.dumps(wanted))
            except TimeoutError:
                raise TimedOut(
                    f"{model} was not loaded within {seconds:g} s; the setting request_timeout allows more"
                ) from None
            if not address:
                await process.wait()
                raise BadRequest(f"{model} cannot be loaded: {_reason(log)}")
            return cls(process, f"{address}/v1", key, resources.pop_all())

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def stop(self) -> None:
        """End the process, if it has not ended by itself."""
        await self._resources.aclose()


async def _spawn(log: IO[bytes], environ: Mapping[str, str]) -> Process:
    """The script's process; Ctrl+C in the terminal does not reach it, and no module of the working directory does.

    It stays in Marvin's session: a process in another one could be taken for what a command has left behind.
    """
    command = (sys.executable, "-P", str(_SCRIPT))
    try:
        return await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=log, env=environ, process_group=0
        )
    except OSError as error:
        raise Unreachable(f"the engine cannot be started ({error.strerror})") from error


async def _tell(process: Process, line: str) -> str:
    """The line with which the process answers; empty when it ends instead."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{line}\n".encode())
    return (await process.stdout.readline()).decode().strip()


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    if process.stdin:
        process.stdin.close()
    await process.wait()


def _reason(log: IO[bytes]) -> str:
    """What the engine said first, since what follows only repeats that it failed; its last words if it crashed."""
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    errors = [_LOG_PREFIX.sub("", line) for line in lines if _LOG_PREFIX.match(line)]
    said = errors[0] if errors else next((line for line in reversed(lines) if line.strip()), "the engine ended")
    return " ".join(said.split())[:_LONGEST]
