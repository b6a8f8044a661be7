import asyncio
import gzip
import subprocess
import sys
import time
import zlib

import pytest

from marvin_server.errors import BadRequest, Interrupted, TimedOut, Unreachable
from marvin_server.providers.transport import Response, Transport, is_loopback
from tests.patience import SECONDS
from tests.servers.http_server import Answer, HttpServer, Mark, Request, Step
from tests.servers.model_server import ThreadedModelServer


def answers(*steps: Step, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> HttpServer:
    return HttpServer(lambda _request: Answer(status, headers, steps))


def transport(*, request_timeout: float = SECONDS, stall_timeout: float = SECONDS) -> Transport:
    return Transport(request_timeout=request_timeout, stall_timeout=stall_timeout)


async def post(transport: Transport, server: HttpServer, body: bytes = b"{}") -> bytes:
    async with transport.post(f"http://127.0.0.1:{server.port}/v1", {"x-test": "1"}, body) as response:
        return await read_all(response)


async def read_all(response: Response) -> bytes:
    body = b""
    while chunk := await response.read():
        body += chunk
    return body


async def disconnected(server: HttpServer) -> Request:
    await server.wait_until(lambda: server.requests[0].closed_ns is not None, "the connection was not closed")
    return server.requests[0]


async def test_a_request_is_sent_as_it_is_and_its_answer_read_as_it_arrives() -> None:
    async with answers(b"one", Mark.GATE, b"two", status=201, headers=(("X-Vendor", "acme"),)) as server:
        client = transport()
        async with client.post(f"http://127.0.0.1:{server.port}/v1?a=b", {"x-test": "1"}, b"{}") as response:
            assert (response.status, response.headers["x-vendor"]) == (201, "acme")
            assert await response.read() == b"one"
            server.release()
            assert [await response.read(), await response.read()] == [b"two", b""]
        (request,) = server.requests
        assert (request.method, request.path, request.headers["x-test"], request.body) == (
            "POST",
            "/v1?a=b",
            "1",
            b"{}",
        )
        await client.aclose()


async def test_a_connection_is_used_again_even_when_the_last_bytes_were_left_unread() -> None:
    async with answers(b"data", b"rest") as server:
        client = transport()
        for _ in range(3):
            async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
                await response.read()
        assert [request.closed_ns for request in server.requests] == [None, None, None]
        await client.aclose()
        assert (await disconnected(server)).closed_by == "client"


async def test_a_compressed_answer_is_decompressed() -> None:
    async with answers(gzip.compress(b"hello"), headers=(("Content-Encoding", "gzip"),)) as server:
        client = transport()
        assert await post(client, server) == b"hello"
        await client.aclose()


async def test_a_compressed_answer_is_decompressed_as_it_arrives() -> None:
    packer = zlib.compressobj()
    first, second = packer.compress(b"one") + packer.flush(zlib.Z_SYNC_FLUSH), packer.compress(b"two") + packer.flush()
    async with answers(first, Mark.GATE, second, headers=(("Content-Encoding", "deflate"),)) as server:
        client = transport()
        async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
            assert await response.read() == b"one"
            server.release()
            assert [await response.read(), await response.read()] == [b"two", b""]
        await client.aclose()


async def test_a_compression_that_nobody_asked_for_is_named() -> None:
    async with answers(b"???", status=401, headers=(("Content-Encoding", "br"),)) as server:
        client = transport()
        async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
            assert (response.status, await response.read_start(10)) == (401, b"")
            with pytest.raises(BadRequest, match="content-encoding: br"):
                await response.read()
        await client.aclose()


@pytest.mark.parametrize(
    ("steps", "headers"),
    [
        ((b"one", Mark.CUT), ()),
        ((gzip.compress(b"hello")[:-4],), (("Content-Encoding", "gzip"),)),
        ((Mark.CUT,), ()),
        ((b"\xff\xff\xff\xff" * 9,), (("Content-Encoding", "gzip"),)),
    ],
)
async def test_a_broken_answer_is_interrupted(steps: tuple[Step, ...], headers: tuple[tuple[str, str], ...]) -> None:
    async with answers(*steps, headers=headers) as server:
        client = transport()
        with pytest.raises(Interrupted, match=f"127.0.0.1:{server.port} broke"):
            await post(client, server)
        await client.aclose()


async def test_a_silence_after_the_first_byte_ends_with_the_stall_time_out() -> None:
    async with answers(b"one", Mark.STALL) as server:
        client = transport(stall_timeout=0.05)
        with pytest.raises(TimedOut, match="stall_timeout"):
            await post(client, server)
        assert (await disconnected(server)).closed_by == "client"
        await client.aclose()


async def test_a_silence_before_the_first_byte_ends_with_the_request_time_out_alone() -> None:
    async with answers(0.2, b"loaded") as server:
        client = transport(stall_timeout=0.05)
        assert await post(client, server) == b"loaded"
        await client.aclose()
    async with answers(Mark.STALL) as server:
        client = transport(request_timeout=0.1)
        with pytest.raises(TimedOut, match="request_timeout"):
            await post(client, server)
        assert (await disconnected(server)).closed_by == "client"
        await client.aclose()


async def test_every_byte_starts_the_stall_time_out_anew_but_not_the_request_time_out() -> None:
    async with answers(*[b"x", 0.03] * 20) as server:
        client = transport(stall_timeout=0.5)
        assert await post(client, server) == b"x" * 20
        await client.aclose()
    async with answers(*[b"x", 0.03] * 100) as server:
        client = transport(request_timeout=0.3)
        with pytest.raises(TimedOut, match="request_timeout"):
            await post(client, server)
        await client.aclose()


async def test_the_request_time_out_holds_for_a_reader_that_paused_when_it_passed() -> None:
    async with answers(b"x", Mark.GATE, b"y") as server:
        client = transport(request_timeout=1)
        async with client.post(f"http://127.0.0.1:{server.port}/v1", {}, b"{}") as response:
            assert await response.read() == b"x"
            await asyncio.sleep(1.1)
            server.release()
            with pytest.raises(TimedOut, match="request_timeout"):
                await response.read()
        await client.aclose()


async def test_what_came_while_the_process_stood_still_is_read_and_no_silence() -> None:
    with ThreadedModelServer("gated") as server:
        client = transport(stall_timeout=1)
        async with client.post(f"{server.url}/chat/completions", {}, b'{"stream": true}') as response:
            server.release()
            assert await response.read()
            reading = asyncio.ensure_future(response.read())
            await asyncio.sleep(0)
            server.release()
            time.sleep(1.5)  # noqa: ASYNC251
            assert await reading
        await client.aclose()


async def test_a_server_that_never_answers_times_out() -> None:
    async with HttpServer(lambda _request: Answer(200, (), (Mark.STALL,), head=False)) as server:
        client = transport(request_timeout=0.1)
        with pytest.raises(TimedOut, match="request_timeout"):
            await post(client, server)
        await client.aclose()


async def test_cancelling_closes_the_connection() -> None:
    async with answers(b"one", Mark.STALL) as server:
        client, begun = transport(), asyncio.Event()

        async def converse() -> None:
            async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
                await response.read()
                begun.set()
                await response.read()

        task = asyncio.create_task(converse())
        await asyncio.wait_for(begun.wait(), SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await disconnected(server)).closed_by == "client"
        await client.aclose()


async def test_leaving_early_by_an_error_closes_the_connection() -> None:
    async with answers(b"one", Mark.STALL) as server:
        client = transport()

        async def give_up() -> None:
            async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
                assert await response.read_start(3) == b"one"
                raise BadRequest("enough")

        with pytest.raises(BadRequest, match="enough"):
            await give_up()
        assert (await disconnected(server)).closed_by == "client"
        await client.aclose()


async def test_a_redirect_is_not_followed() -> None:
    async with answers(b"moved", status=307, headers=(("Location", "/elsewhere"),)) as server:
        client = transport()
        assert await post(client, server) == b"moved"
        assert len(server.requests) == 1
        await client.aclose()


async def test_an_unreachable_host_is_named_with_what_to_check() -> None:
    async with answers() as server:
        port = server.port
    client = transport()
    with pytest.raises(Unreachable) as caught:
        async with client.post(f"http://me:secret@127.0.0.1:{port}/v1", {}, b""):
            pass
    assert str(caught.value) == (
        f"cannot reach 127.0.0.1:{port} (Connection refused); "
        "check the network, the address and that a server runs there"
    )
    await client.aclose()


async def test_plain_http_where_https_is_expected_is_unreachable() -> None:
    def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        client = transport()
        with pytest.raises(Unreachable, match="SSL"):
            async with client.post(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {}, b""):
                pass
        await client.aclose()


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with answers(b"direct") as server:
        client = transport()
        assert await post(client, server) == b"direct"
        await client.aclose()


async def test_a_proxy_of_the_environment_carries_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answers(b"proxied") as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        client = transport()
        async with client.post("http://api.acme.example/v1", {}, b"") as response:
            assert await read_all(response) == b"proxied"
        assert proxy.requests[0].path == "http://api.acme.example/v1"
        await client.aclose()


@pytest.mark.parametrize("variable", ["http_proxy", "ALL_PROXY"])
async def test_every_variable_that_names_a_proxy_counts(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with answers(b"proxied") as proxy:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        client = transport()
        for _ in range(2):
            async with client.post("http://api.acme.example/v1", {"x-test": "1"}, b"{}") as response:
                assert await read_all(response) == b"proxied"
        assert [(request.headers["x-test"], request.body) for request in proxy.requests] == [("1", b"{}")] * 2
        assert proxy.requests[0].headers["host"] == "api.acme.example"
        await client.aclose()


async def test_a_proxy_is_not_asked_for_what_no_proxy_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with answers(b"direct") as server:
        # A spelling of this machine's address that does not look like one.
        url = f"http://127.1:{server.port}/"
        client = transport()
        with pytest.raises(Unreachable, match=r"^cannot reach 127\.1:"):
            async with client.post(url, {}, b""):
                pass
        await client.aclose()
        monkeypatch.setenv("NO_PROXY", "127.1")
        client = transport()
        async with client.post(url, {}, b"") as response:
            assert await read_all(response) == b"direct"
        await client.aclose()


@pytest.mark.parametrize("steps", [(b"one", Mark.CUT), (Mark.CUT,)])
async def test_an_answer_that_breaks_behind_a_proxy_is_interrupted(
    steps: tuple[Step, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answers(*steps) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        client = transport()
        with pytest.raises(Interrupted, match=r"api\.acme\.example broke"):
            async with client.post("http://api.acme.example/v1", {}, b"") as response:
                await read_all(response)
        await client.aclose()


async def test_a_proxy_that_is_not_there_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answers() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    client = transport()
    await client.connect("http://api.acme.example/v1")
    with pytest.raises(Unreachable, match="Connection refused"):
        async with client.post("http://api.acme.example/v1", {}, b""):
            pass
    await client.aclose()


async def test_an_unusable_proxy_is_one_readable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(Unreachable, match="proxy"):
        async with transport().post("http://api.acme.example/v1", {}, b""):
            pass


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8080/v1", True),
        ("http://models.localhost", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:1", True),
        ("http://127.0.0.1.example", False),
        ("http://localhost.example", False),
        ("https://api.example", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_only_this_very_machine_is_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_importing_a_provider_loads_no_http_library_nor_pydantic_nor_yaml() -> None:
    code = (
        "import sys; import marvin_server.providers.openai_chat, marvin_server.providers.vendors;"
        "heavy = {'httpx', 'h11', 'pydantic', 'yaml', 'email'};"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
