"""What goes over the wire, and over which connection, where no proxy is in force."""

import asyncio
import socket
import subprocess
import sys

import pytest

import marvin_server
from marvin_server.errors import BadRequest, Interrupted, Unreachable
from marvin_server.providers.transport import Response, Transport
from tests.patience import SECONDS
from tests.providers.raw_server import answering, read_request, serving
from tests.servers.http_server import Answer, HttpServer, Mark
from tests.servers.model_server import ThreadedModelServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def transport(*, request_timeout: float = SECONDS, stall_timeout: float = SECONDS) -> Transport:
    return Transport(request_timeout=request_timeout, stall_timeout=stall_timeout)


async def read_all(response: Response) -> bytes:
    body = b""
    while chunk := await response.read():
        body += chunk
    return body


async def post(client: Transport, url: str, body: bytes = b"{}") -> bytes:
    async with client.post(url, {}, body) as response:
        return await read_all(response)


def loopback_addresses() -> list[str]:
    """Those of this machine: not every one has IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return ["127.0.0.1", "::1"]
    except OSError:
        return ["127.0.0.1"]


@pytest.mark.parametrize("host", loopback_addresses())
async def test_a_request_holds_the_callers_headers_and_those_that_http_wants(host: str) -> None:
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(OK)

    async with serving(talk, host) as server:
        client = transport()
        async with client.post(f"{server.url}/a b?q=%20ü#part", {"Accept": "text/event-stream"}, b"{}"):
            pass
        await client.aclose()
        authority = server.url.removeprefix("http://").removesuffix("/v1")
    assert seen == [
        (
            "POST /v1/a%20b?q=%20%C3%BC HTTP/1.1\r\n"
            f"host: {authority}\r\n"
            "accept: text/event-stream\r\n"
            "accept-encoding: identity\r\n"
            f"user-agent: marvin-assistant/{marvin_server.__version__}\r\n"
            "content-length: 2\r\n"
            "\r\n"
            "{}"
        ).encode()
    ]


async def test_a_name_and_password_in_the_address_become_basic_authentication() -> None:
    async with HttpServer(lambda _request: Answer(200, (), ())) as server:
        client = transport()
        await post(client, f"http://me:se%20cret@127.0.0.1:{server.port}/")
        assert server.requests[0].headers["authorization"] == "Basic bWU6c2UgY3JldA=="
        await client.aclose()


@pytest.mark.parametrize("value", ["sk-1\r\nX-Evil: yes", "sk-1\x00", "sk-✓"])
async def test_a_header_that_http_does_not_allow_is_refused_without_showing_it(value: str) -> None:
    client = transport()
    with pytest.raises(BadRequest, match=r"^the request to 127\.0\.0\.1:9 cannot be sent") as caught:
        async with client.post("http://127.0.0.1:9/", {"authorization": value}, b""):
            pass
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http:///v1", "http://127.0.0.1:port/", f"http://{'a' * 64}.test/"]
)
async def test_an_impossible_address_is_unreachable(url: str) -> None:
    with pytest.raises(Unreachable, match=r"^cannot reach .*; check the address"):
        await post(transport(), url)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nX-Trailer: 1\r\n\r\n",
            b"abc",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, b"ok"),
    ],
)
async def test_every_way_to_frame_an_answer_is_understood(answer: bytes, body: bytes) -> None:
    async with serving(answering(answer)) as server:
        client = transport()
        assert await post(client, server.url) == body
        await client.aclose()


async def test_headers_are_latin_1_and_repeated_ones_are_joined() -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nLink: a\r\nlink: b\r\nContent-Length: 0\r\n\r\n"
    async with serving(answering(answer)) as server:
        client = transport()
        async with client.post(server.url, {}, b"") as response:
            assert response.headers == {"x-name": "café", "link": "a, b", "content-length": "0"}
        await client.aclose()


async def test_what_arrives_together_is_read_together() -> None:
    chunks = b"5\r\nhello\r\n" * 2_000
    async with serving(
        answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
    ) as server:
        client = transport()
        async with client.post(server.url, {}, b"") as response:
            assert await response.read() == b"hello" * 2_000
            assert await response.read() == b""
        await client.aclose()


async def test_what_came_before_a_broken_chunk_is_not_lost() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n"
    async with serving(answering(answer)) as server:
        client = transport()
        async with client.post(server.url, {}, b"") as response:
            assert await response.read() == b"hello"
            for _ in range(2):
                with pytest.raises(Interrupted, match=r"broke during the answer.*nonsense"):
                    await response.read()
        await client.aclose()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "answered something that is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000, "answered something that is not HTTP"),
        (b"y" * 90_000 + b"\r\n\r\n", "answered something that is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-", "closed the connection without an answer .its head is incomplete"),
        (b"", "closed the connection without an answer .not a byte came"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "closed the connection without an answer .its head is incomplete"),
    ],
    ids=["other protocol", "endless head", "long line", "half a head", "nothing", "only a continue"],
)
async def test_an_answer_without_a_head_is_interrupted_after_one_attempt(answer: bytes, said: str) -> None:
    async with serving(answering(answer)) as server:
        client = transport()
        with pytest.raises(Interrupted, match=said) as caught:
            await post(client, server.url)
        assert len(str(caught.value)) < 300
        assert server.connections == 1
        await client.aclose()


async def test_a_kept_connection_that_the_server_closes_at_the_next_request_is_replaced_once() -> None:
    def respond(_request: object) -> Answer:
        stale = len(server.requests) == 2
        return Answer(200, (), (Mark.CUT,), head=False) if stale else Answer(200, (), (b"ok",))

    async with HttpServer(respond) as server:
        client = transport()
        assert await post(client, f"http://127.0.0.1:{server.port}/", b"first") == b"ok"
        assert await post(client, f"http://127.0.0.1:{server.port}/", b"second") == b"ok"
        assert [request.body for request in server.requests] == [b"first", b"second", b"second"]
        await client.aclose()


async def test_a_request_is_sent_twice_at_most() -> None:
    def respond(_request: object) -> Answer:
        return Answer(200, (), (b"ok",)) if len(server.requests) == 1 else Answer(200, (), (Mark.CUT,), head=False)

    async with HttpServer(respond) as server:
        client = transport()
        assert await post(client, f"http://127.0.0.1:{server.port}/") == b"ok"
        with pytest.raises(Interrupted, match="without an answer"):
            await post(client, f"http://127.0.0.1:{server.port}/")
        assert len(server.requests) == 3
        await client.aclose()


async def test_a_request_is_not_sent_again_once_a_byte_of_its_answer_came() -> None:
    async with serving(answering(OK, b"H")) as server:
        client = transport()
        assert await post(client, server.url) == b"ok"
        with pytest.raises(Interrupted, match="its head is incomplete"):
            await post(client, server.url)
        assert server.connections == 1
        await client.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        OK + b"more",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\n\r\nok",
    ],
    ids=["closed by the server", "unasked bytes", "connection: close", "HTTP/1.0"],
)
async def test_a_connection_that_cannot_be_used_again_is_not(answer: bytes) -> None:
    async with serving(answering(answer)) as server:
        client = transport()
        for count in (1, 2, 3):
            assert await post(client, server.url) == b"ok"
            await server.wait_until(lambda count=count: server.ended == count)
        assert server.connections == 3
        await client.aclose()


async def test_two_requests_at_once_have_a_connection_each_and_one_is_kept() -> None:
    async with HttpServer(lambda _request: Answer(200, (), (b"a", Mark.GATE, b"b"))) as server:
        client, url = transport(), f"http://127.0.0.1:{server.port}/"
        posts = [asyncio.create_task(post(client, url)) for _ in range(2)]
        await server.wait_until(lambda: len(server.requests) == 2, "there were no two requests")
        server.release(2)
        assert await asyncio.gather(*posts) == [b"ab", b"ab"]
        await server.wait_until(
            lambda: sum(request.closed_ns is not None for request in server.requests) == 1, "both kept"
        )
        await client.aclose()
        await server.wait_until(lambda: all(request.closed_ns for request in server.requests), "one is still open")


async def test_a_reader_that_pauses_holds_the_server_back() -> None:
    piece, count = b"x" * 65_536, 1_000
    async with HttpServer(lambda _request: Answer(200, (), [piece] * count, length=len(piece) * count)) as server:
        client = transport()
        async with client.post(f"http://127.0.0.1:{server.port}/", {}, b"") as response:
            for _ in range(5_000):
                await asyncio.sleep(0)
            assert len(server.requests[0].writes) < count / 2
            size = 0
            while chunk := await response.read():
                size += len(chunk)
            assert size == len(piece) * count
        await client.aclose()


async def test_cancelling_before_the_answer_closes_the_connection() -> None:
    async with HttpServer(lambda _request: Answer(200, (), (Mark.STALL,), head=False)) as server:
        client = transport()
        task = asyncio.create_task(post(client, f"http://127.0.0.1:{server.port}/"))
        await server.wait_until(lambda: bool(server.requests), "no request came")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.wait_until(lambda: server.requests[0].closed_ns is not None, "the connection was not closed")
        await client.aclose()


async def test_a_connection_opened_ahead_is_taken_by_the_first_request() -> None:
    async with serving(answering(OK, OK)) as server:
        client = transport()
        await asyncio.gather(client.connect(server.url), client.connect(server.url), post(client, server.url))
        assert await post(client, server.url) == b"ok"
        assert server.connections == 1
        await client.aclose()


async def test_a_failure_to_connect_ahead_is_reported_by_the_request() -> None:
    async with serving(answering()) as server:
        url = server.url
    client = transport()
    await client.connect(url)
    with pytest.raises(Unreachable, match="Connection refused"):
        await post(client, url)


async def test_a_name_with_several_addresses_that_all_refuse_has_one_short_reason() -> None:
    async with serving(answering()) as server:
        url = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(Unreachable, match=r"^cannot reach localhost:\d+ \(Connection refused\); check"):
        await post(transport(), url)


def test_a_direct_request_needs_neither_httpx_nor_the_proxy_rules(model_server: ThreadedModelServer) -> None:
    code = (
        "import asyncio, sys\n"
        "from marvin_server.providers.transport import Transport\n"
        "async def main():\n"
        "    client = Transport(request_timeout=5, stall_timeout=5)\n"
        "    async with client.post(sys.argv[1], {}, b'{}') as response:\n"
        "        print(response.status, end=' ')\n"
        "    await client.aclose()\n"
        "asyncio.run(main())\n"
        "print(sorted({'httpx', 'anyio', 'certifi', 'urllib.request', 'email'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-c", code, f"{model_server.url}/chat/completions"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "200 []\n"
