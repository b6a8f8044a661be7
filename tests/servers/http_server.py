"""An HTTP/1.1 server on loopback that records what comes in and may misbehave byte by byte."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Literal, Self

from tests.patience import SECONDS


class Mark(Enum):
    """What a server does instead of writing: wait for a release, close the connection, or fall silent."""

    GATE = auto()
    CUT = auto()
    STALL = auto()


Step = bytes | float | Mark


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer. Bytes among ``steps`` are written at once, a float is a pause in seconds.

    ``length`` is the Content-Length; without it the body is chunked, or ends with the connection when ``chunked`` is
    false. ``head`` false leaves out status line and headers; ``head_gap`` is in seconds between their single bytes.
    """

    status: int
    headers: Iterable[tuple[str, str]]
    steps: Iterable[Step]
    length: int | None = None
    chunked: bool = True
    head: bool = True
    head_gap: float = 0.0


@dataclass(slots=True)
class Request:
    """A request as it came, header names in lower case, and what became of it. Times are ``time.time_ns``.

    ``writes`` has the time of each write of the body; ``bytes_sent`` counts head, framing and body.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    arrived_ns: int
    writes: list[int] = field(default_factory=list[int])
    bytes_sent: int = 0
    closed_ns: int | None = None
    closed_by: Literal["client", "server"] | None = None

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class _HungUp(Exception):
    """The server closes the connection of its own accord."""


class HttpServer:
    """Serves ``respond`` on 127.0.0.1 at a free ``port`` for as long as the context lasts.

    ``connections`` counts those that were opened.

    What ``respond`` raises is raised again when the context ends, so that a broken script fails its test.
    """

    def __init__(self, respond: Callable[[Request], Answer]) -> None:
        self.port = 0
        self.connections = 0
        self.requests: list[Request] = []
        self._respond = respond
        self._changed = asyncio.Event()
        self._gate = asyncio.Semaphore(0)
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._failures: list[Exception] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening)
        await asyncio.sleep(0)  # one that was accepted a moment ago gets its transport while there is a server for it
        self._server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        await _cancel(*self._connections)
        await self._server.wait_closed()
        if self._failures:
            raise ExceptionGroup("the scripted server failed", self._failures)

    def release(self, count: int = 1) -> None:
        """Let ``count`` gated writes go on."""
        for _ in range(count):
            self._gate.release()

    async def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until ``holds()``, bounded; ``what`` names it in the ``TimeoutError``."""
        try:
            async with asyncio.timeout(SECONDS):
                while not holds():
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"{what} within {SECONDS} s; requests so far: {len(self.requests)}") from None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server.is_serving():
            # It was on its way in when the server closed: nobody would end it any more.
            writer.transport.abort()
            return
        self.connections += 1
        self._tell()
        task = asyncio.create_task(self._converse(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served: list[Request] = []
        closed_by: Literal["client", "server"] = "server"
        try:
            request = await _read_request(reader)
            while request is not None:
                served.append(request)
                self.requests.append(request)
                self._tell()
                request = await self._serve(request, reader, writer)
            closed_by = "client"
        except ConnectionError:
            closed_by = "client"
        except _HungUp:
            pass
        except Exception as error:  # a broken script must fail its test
            self._failures.append(error)
        finally:
            for request in served:
                request.closed_ns, request.closed_by = time.time_ns(), closed_by
            self._tell()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Request | None:
        """Answer, and return the next request on the connection, or None as soon as the client has left."""
        answering = asyncio.create_task(self._answer(request, writer))
        following = asyncio.create_task(_read_request(reader))
        try:
            await asyncio.wait({answering, following}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done() or following.result() is not None:
                await answering
            return await following
        finally:
            await _cancel(answering, following)

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        answer = self._respond(request)
        if answer.head:
            await self._send_head(answer, request, writer)
        framed = answer.chunked and answer.length is None
        for step in answer.steps:
            match step:
                case bytes():
                    request.writes.append(time.time_ns())
                    await _write(b"%x\r\n%b\r\n" % (len(step), step) if framed else step, request, writer)
                case float() | int():
                    await asyncio.sleep(step)
                case Mark.GATE:
                    await self._gate.acquire()
                case Mark.STALL:
                    await asyncio.Event().wait()
                case Mark.CUT:
                    raise _HungUp
        if framed:
            await _write(b"0\r\n\r\n", request, writer)
        if not (framed or answer.length is not None) or request.headers.get("connection", "").lower() == "close":
            raise _HungUp

    async def _send_head(self, answer: Answer, request: Request, writer: asyncio.StreamWriter) -> None:
        phrase = HTTPStatus(answer.status).phrase if answer.status in set(HTTPStatus) else "Unknown"
        headers = list(answer.headers)
        if answer.length is not None:
            headers.append(("Content-Length", str(answer.length)))
        else:
            headers.append(("Transfer-Encoding", "chunked") if answer.chunked else ("Connection", "close"))
        lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers), "", ""]
        head = "\r\n".join(lines).encode("latin-1")
        if not answer.head_gap:
            await _write(head, request, writer)
            return
        for byte in head:
            await _write(bytes((byte,)), request, writer)
            await asyncio.sleep(answer.head_gap)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def _write(part: bytes, request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(part)
    request.bytes_sent += len(part)
    await writer.drain()
    await asyncio.sleep(0)  # lets the loop see at once that the client has left


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection, None when the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        arrived_ns = time.time_ns()
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            body = await _read_chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method, path, headers, body, arrived_ns)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return body


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
