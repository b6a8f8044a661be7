"""An editor's side of ``marvin lsp``, small: it talks to the real process and keeps every message in order."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.patience import SECONDS

COMMAND = Path(sys.executable).with_name("marvin")
MARVIN = {"protocolVersion": 1}
Message = dict[str, Any]


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.error = error


class Editor:
    """A running server. ``messages`` are all that it has sent, in order; ``on_message`` gets each as it comes. Every
    wait is bounded by ``seconds``, which is no timing."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.messages: list[Message] = []
        self.on_message: Callable[[Message], None] = lambda _: None
        self._changed = asyncio.Condition()
        self._reading: asyncio.Task[None] | None = None
        self._last_id = 0

    @classmethod
    async def start(cls, cwd: Path, environ: Mapping[str, str], *args: str | Path, read: bool = True) -> "Editor":
        """Start the installed command; without ``read`` nothing is read before ``begin_reading``."""
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            "lsp",
            *args,
            cwd=cwd,
            env={**os.environ, **environ},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**16,
        )
        editor = cls(process)
        if read:
            editor.begin_reading()
        return editor

    def begin_reading(self) -> None:
        self._reading = asyncio.create_task(self._read())

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)

    def send(self, message: Any) -> None:
        self.write(frame(message))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request and give its id."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}})
        return self._last_id

    async def answer(self, request_id: int | str | None, seconds: float = SECONDS) -> Any:
        """The result of a request that was sent. Raises ``Refused``."""
        message = await self.until(lambda one: "method" not in one and one.get("id") == request_id, seconds)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    async def request(self, method: str, params: Any = None, seconds: float = SECONDS) -> Any:
        return await self.answer(self.ask(method, params), seconds)

    async def initialize(self, marvin: Any = MARVIN, **params: Any) -> Any:
        capabilities = {"experimental": {"marvin": marvin}} if marvin is not None else {}
        result = await self.request("initialize", {"processId": None, "capabilities": capabilities, **params})
        self.notify("initialized")
        return result

    async def until(self, wanted: Callable[[Message], bool], seconds: float = SECONDS) -> Message:
        """The first message so far, or to come, that is ``wanted``."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: any(wanted(message) for message in self.messages))
        except TimeoutError:
            raise AssertionError(f"it did not come; so far: {json.dumps(self.messages)[-3000:]}") from None
        return next(message for message in self.messages if wanted(message))

    def events(self, session_id: str) -> list[Message]:
        """The events of a session so far."""
        batches = [one["params"] for one in self.messages if one.get("method") == "marvin/turn/events"]
        return [event for batch in batches if batch["sessionId"] == session_id for event in batch["events"]]

    async def event(self, kind: str, session_id: str, seconds: float = SECONDS, *, nth: int = 1) -> Message:
        """The ``nth`` event of this type."""

        def found() -> list[Message]:
            return [event for event in self.events(session_id) if event["type"] == kind]

        await self.until(lambda _: len(found()) >= nth, seconds)
        return found()[nth - 1]

    def said(self, session_id: str) -> str:
        """The text of a session's deltas so far."""
        return "".join(event["text"] for event in self.events(session_id) if event["type"] == "message.delta")

    async def decide(self, session_id: str, decision: str, *, nth: int = 1, **more: Any) -> bool:
        """Answer the ``nth`` question of a session; whether this answer counts."""
        asked = await self.event("permission.requested", session_id, nth=nth)
        params = {"permissionId": asked["permission"]["id"], "decision": decision, **more}
        return (await self.request("marvin/permission/answer", params))["accepted"]

    async def session(self, cwd: Path, **params: Any) -> str:
        """The id of a new session."""
        return (await self.request("marvin/session/new", {"cwd": str(cwd), **params}))["session"]["id"]

    async def load(self, session_id: str, **params: Any) -> Any:
        """The snapshot of a session."""
        return await self.request("marvin/session/load", {"sessionId": session_id, **params})

    async def turn(self, session_id: str, text: str = "go", **params: Any) -> str:
        """The id of a turn that was started or queued."""
        said = {"sessionId": session_id, "input": [{"type": "text", "text": text}], **params}
        return (await self.request("marvin/turn/start", said))["turnId"]

    async def leave(self) -> int:
        """Shut down as the protocol wants it, and give the exit code."""
        await self.request("shutdown")
        self.notify("exit")
        return await self.exit_code()

    async def exit_code(self, seconds: float = SECONDS) -> int:
        return await asyncio.wait_for(self.process.wait(), seconds)

    async def stderr(self) -> str:
        assert self.process.stderr
        return (await asyncio.wait_for(self.process.stderr.read(), SECONDS)).decode()

    async def close(self) -> None:
        """Kill what still runs."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        if self._reading:
            self._reading.cancel()
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _read(self) -> None:
        assert self.process.stdout
        while header := await self.process.stdout.readline():
            length = int(header.removeprefix(b"Content-Length: "))
            assert await self.process.stdout.readline() == b"\r\n"
            message = json.loads(await self.process.stdout.readexactly(length))
            async with self._changed:
                self.messages.append(message)
                self._changed.notify_all()
            self.on_message(message)


def frame(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
