"""VS Code as code-server on loopback: the packed extension in a profile of its own."""

import asyncio
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest

from tests.patience import SECONDS

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
MARVIN = Path(sys.executable).with_name("marvin")

_CODE_SERVER = ROOT / ".cache" / "code-server"
_PROGRAM = _CODE_SERVER / "node_modules" / ".bin" / "code-server"
_NO_GALLERY = json.dumps({"serviceUrl": "", "itemUrl": "", "resourceUrlTemplate": ""})


def require() -> None:
    """Skip the test where code-server or the extension's own tools are not installed; in CI, fail it."""
    wanted = {
        _CODE_SERVER / "installed": f"tests/e2e/install-code-server.sh {_CODE_SERVER.relative_to(ROOT)}",
        EXTENSION / "node_modules": f"npm ci --prefix {EXTENSION.relative_to(ROOT)}",
    }
    missing = [command for path, command in wanted.items() if not path.exists()]
    if missing:
        problem = f"VS Code is not installed: {' && '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)


def pack(folder: Path) -> Path:
    """The extension as a .vsix in ``folder``, packed by the first of several processes that ask for it there."""
    packed = folder / "marvin.vsix"
    with (folder / "packing").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not packed.exists():
            command = ("npm", "run", "package", "--", "--out", packed)
            done = subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    return packed


class CodeServer:
    """A code-server with the extension, for as long as the context lasts.

    Its profile, its home and its log are in ``place``; ``settings`` are a person's, ``environ`` is all of the
    environment that is not its ``home``; PATH is what a login shell there makes of it.
    """

    def __init__(self, place: Path, vsix: Path, settings: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self.log = place / "log"
        self.extensions = place / "extensions"
        self._settings = settings
        self._vsix = vsix
        self._profile = place / "profile"
        home = self.home = place / "home"
        self._environ = {
            **environ,
            "HOME": str(home),
            "MARVIN_HOME": str(home / "marvin"),
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
            "GIT_CONFIG_NOSYSTEM": "1",
            "OLLAMA_HOST": "127.0.0.1:9",
            "LC_ALL": "C.UTF-8",
            "EXTENSIONS_GALLERY": _NO_GALLERY,
            "CODE_SERVER_CONFIG": os.devnull,
        }
        home.mkdir(parents=True)

    async def __aenter__(self) -> Self:
        # Those of the machine, such as marvin.command, count only among the remote's settings.
        for kind in ("User", "Machine"):
            (self._profile / kind).mkdir(parents=True)
            (self._profile / kind / "settings.json").write_text(json.dumps(self._settings))
        places = ("--user-data-dir", self._profile, "--extensions-dir", self.extensions)
        with self.log.open("wb") as log:
            install = await asyncio.create_subprocess_exec(
                *(_PROGRAM, *places, "--install-extension", self._vsix), env=self._environ, stdout=log, stderr=log
            )
            async with asyncio.timeout(SECONDS):
                assert await install.wait() == 0, self.log.read_text()
        self._process = await asyncio.create_subprocess_exec(
            *(_PROGRAM, *places, "--bind-addr", "127.0.0.1:0", "--auth", "none"),
            *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._logging = asyncio.create_task(self._keep_log(listening))
        try:
            self.origin = await asyncio.wait_for(listening, SECONDS)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 10)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await self._logging

    async def _keep_log(self, listening: asyncio.Future[str]) -> None:
        assert self._process.stdout
        with self.log.open("ab") as log:
            async for line in self._process.stdout:
                log.write(line)
                log.flush()
                found = re.search(rb"HTTP server listening on (http://127\.0\.0\.1:\d+)", line)
                if found and not listening.done():
                    listening.set_result(found[1].decode())
        if not listening.done():
            listening.set_exception(AssertionError(self.log.read_text()))
