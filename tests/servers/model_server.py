"""A loopback model server that plays scenarios: in this loop, in a thread, or as a process of its own."""

import argparse
import asyncio
import json
import signal
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from tests.patience import SECONDS
from tests.servers import anthropic_wire, ollama_wire, openai_wire, responses_wire
from tests.servers.http_server import Answer, HttpServer, Mark, Request, Step
from tests.servers.reply import Delivery, Reply, Said, Scenario, Wire
from tests.servers.scenarios import SCENARIOS

WIRES = (openai_wire.WIRE, responses_wire.WIRE, anthropic_wire.WIRE, ollama_wire.WIRE)
JSON_HEADERS = (("Content-Type", "application/json"),)


class ModelServer:
    """Answers model requests on 127.0.0.1 from a scenario, which may be given by its name, while the context lasts.

    ``GET …/models`` lists one model. ``GET /requests`` lists, as JSON without bodies, the requests so far, for whoever
    looks from another process.
    """

    def __init__(self, scenario: Scenario | str = "text") -> None:
        self._http = HttpServer(self._respond)
        self.play(scenario)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._http.__aexit__(*exc_info)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.port}"

    @property
    def url(self) -> str:
        """The base URL, ``…/v1``."""
        return f"{self.origin}/v1"

    @property
    def requests(self) -> Sequence[Request]:
        """Every request so far, in the order of arrival."""
        return tuple(self._http.requests)

    @property
    def connections(self) -> int:
        """How many connections were opened so far."""
        return self._http.connections

    def play(self, scenario: Scenario | str) -> None:
        """Go on with this scenario, from its first reply."""
        self._scenario = SCENARIOS[scenario]() if isinstance(scenario, str) else scenario
        self._asked = 0

    def release(self, count: int = 1) -> None:
        """Let ``count`` writes of gated replies go on."""
        self._http.release(count)

    async def wait_for_connection(self) -> None:
        """Wait until somebody has connected. Raises ``TimeoutError`` after 5 s."""
        await self._http.wait_until(lambda: self.connections > 0, "no connection")

    async def wait_for_request(self, number: int = 1) -> Request:
        """The request of this number, counted from 1. Raises ``TimeoutError`` after 5 s."""
        await self._http.wait_until(lambda: len(self._http.requests) >= number, f"no request {number}")
        return self._http.requests[number - 1]

    async def wait_for_disconnect(self, number: int = 1) -> Request:
        """The request of this number once its connection is closed. Raises ``TimeoutError`` after 5 s."""
        request = await self.wait_for_request(number)
        await self._http.wait_until(lambda: request.closed_ns is not None, f"request {number} was not closed")
        return request

    def _respond(self, request: Request) -> Answer:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path == "/requests":
            self._http.requests.remove(request)
            return _json(200, [_summary(earlier) for earlier in self._http.requests])
        if request.method == "GET" and path.endswith("/models"):
            model = {"id": openai_wire.MODEL, "object": "model", "created": 1_700_000_000, "owned_by": "tests"}
            return _json(200, {"object": "list", "data": [model]})
        wire = next((wire for wire in WIRES if path.endswith(wire.path)), None)
        if request.method != "POST" or wire is None:
            return _json(404, {"error": {"message": f"Invalid URL ({request.method} {path})"}})
        self._asked += 1
        body = request.json
        if callable(self._scenario):
            reply = self._scenario(body, self._asked)
        else:
            reply = self._scenario[(self._asked - 1) % len(self._scenario)]
        return _answer(reply, wire, body)


class ThreadedModelServer:
    """A ``ModelServer`` in a thread of its own, for tests without an event loop; each method may be called anywhere."""

    def __init__(self, scenario: Scenario | str = "text") -> None:
        self._scenario = scenario
        self._started: Future[tuple[ModelServer, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    def __enter__(self) -> Self:
        self._executor = ThreadPoolExecutor(1, "model server")
        self._running = self._executor.submit(asyncio.run, self._run())
        self._server, self._loop, self._leave = self._started.result(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._executor.shutdown()
        self._running.result()

    async def _run(self) -> None:
        leave = asyncio.Event()
        async with ModelServer(self._scenario) as server:
            self._started.set_result((server, asyncio.get_running_loop(), leave))
            await leave.wait()

    @property
    def origin(self) -> str:
        return self._server.origin

    @property
    def url(self) -> str:
        """The base URL, ``…/v1``."""
        return self._server.url

    @property
    def requests(self) -> Sequence[Request]:
        """Every request so far, in the order of arrival."""
        return self._server.requests

    def play(self, scenario: Scenario | str) -> None:
        """Go on with this scenario, from its first reply."""
        self._server.play(scenario)

    def release(self, count: int = 1) -> None:
        """Let ``count`` writes of gated replies go on."""
        self._loop.call_soon_threadsafe(self._server.release, count)

    def wait_for_request(self, number: int = 1) -> Request:
        """The request of this number, counted from 1. Raises ``TimeoutError`` after 5 s."""
        return asyncio.run_coroutine_threadsafe(self._server.wait_for_request(number), self._loop).result()

    def wait_for_disconnect(self, number: int = 1) -> Request:
        """The request of this number once its connection is closed. Raises ``TimeoutError`` after 5 s."""
        return asyncio.run_coroutine_threadsafe(self._server.wait_for_disconnect(number), self._loop).result()


def _json(status: int, value: object) -> Answer:
    body = json.dumps(value).encode()
    return Answer(status, JSON_HEADERS, (body,), length=len(body))


def _summary(request: Request) -> dict[str, Any]:
    return {name: value for name, value in asdict(request).items() if name != "body"}


def _answer(reply: Reply, wire: Wire, body: Any) -> Answer:
    """Put a reply into a wire format, and on its way."""
    usual_type = "application/json"
    match reply.body:
        case None:
            events: Sequence[bytes] = (wire.error(reply.status),)
        case bytes() as raw:
            events = (raw,) if raw else ()
        case Said() as said if reply.plain or not wire.streams(body):
            events = (wire.whole(said, body),)
        case Said() as said:
            events, usual_type = wire.events(said, body), wire.stream_type
        case encoded:
            events, usual_type = encoded, wire.stream_type
    delivery = reply.delivery
    headers = [("Content-Type", reply.content_type or usual_type), *reply.headers]
    if delivery.gzip:
        headers.append(("Content-Encoding", "gzip"))
    writes = _writes(events, delivery)
    return Answer(
        status=reply.status,
        headers=headers,
        steps=_steps(writes, delivery),
        length=sum(map(len, writes)) if delivery.framing == "length" else None,
        chunked=delivery.framing == "chunked",
        head=delivery.head,
        head_gap=delivery.head_gap,
    )


def _writes(events: Sequence[bytes], delivery: Delivery) -> Sequence[bytes]:
    """The body as it is written: line ends, byte order mark, compression and the size of the pieces as asked."""
    writes = list(events)
    if delivery.newline != "\n":
        writes = [event.replace(b"\n", delivery.newline.encode()) for event in writes]
    if delivery.bom:
        writes[0] = b"\xef\xbb\xbf" + writes[0]
    if delivery.gzip:
        writes = _compressed(writes, broken=delivery.gzip == "broken")
    if delivery.piece is not None:
        whole = b"".join(writes)
        writes = [whole[at : at + delivery.piece] for at in range(0, len(whole), delivery.piece)]
    return writes


def _compressed(events: Sequence[bytes], *, broken: bool) -> list[bytes]:
    gzip = zlib.compressobj(wbits=31)
    writes = [gzip.compress(event) + gzip.flush(zlib.Z_SYNC_FLUSH) for event in events]
    writes.append(gzip.flush())
    if broken:
        writes[len(writes) // 2] = b"\xff" * 16
    return writes


def _steps(writes: Sequence[bytes], delivery: Delivery) -> Iterator[Step]:
    for number, write in enumerate(writes):
        if number == delivery.cut_after:
            yield Mark.CUT
        if number == delivery.stall_after:
            yield Mark.STALL
        if delivery.gap and number:
            yield delivery.gap
        if delivery.gated:
            yield Mark.GATE
        yield write
    if delivery.cut_after is not None:
        yield Mark.CUT
    if delivery.stall_after is not None:
        yield Mark.STALL


async def _serve(scenario: str, port_file: Path | None) -> None:
    leave = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    async with ModelServer(scenario) as server:
        if port_file is not None:
            unfinished = port_file.with_name(f"{port_file.name}.new")
            unfinished.write_text(server.origin.rpartition(":")[2])
            unfinished.replace(port_file)
        print(server.url, flush=True)
        await leave.wait()


def main() -> None:
    """Play one scenario until SIGINT or SIGTERM; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.model_server", description=main.__doc__)
    parser.add_argument(
        "--scenario", choices=sorted(SCENARIOS), default="text", metavar="NAME", help="see scenarios.py"
    )
    parser.add_argument("--port-file", type=Path, metavar="FILE", help="written with the port once it listens")
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.scenario, arguments.port_file))


if __name__ == "__main__":
    main()
