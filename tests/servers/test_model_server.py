"""The model server keeps its own promises; looked at with the standard library's clients alone."""

import asyncio
import contextlib
import gzip
import http.client
import itertools
import json
import signal
import socket
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.patience import SECONDS
from tests.servers.model_server import ModelServer, ThreadedModelServer
from tests.servers.plain_client import BODY, STREAM_REQUEST, Got, payloads, post, said, understand
from tests.servers.reply import CALL, GREETING, Delivery, Reply, Said, Tokens
from tests.servers.scenarios import calls, says, stall_after


def test_deliveries_change_the_bytes_and_nothing_else(model_server: ThreadedModelServer) -> None:
    plain = post(model_server)[1]
    bodies: dict[str, bytes] = {}
    for name in ("byte-by-byte", "content-length", "close-delimited", "crlf", "cr", "bom", "gzip"):
        model_server.play(name)
        bodies[name] = post(model_server)[1]
    assert bodies.pop("gzip")[:2] == b"\x1f\x8b"
    assert bodies == {
        "byte-by-byte": plain,
        "content-length": plain,
        "close-delimited": plain,
        "crlf": plain.replace(b"\n", b"\r\n"),
        "cr": plain.replace(b"\n", b"\r"),
        "bom": b"\xef\xbb\xbf" + plain,
    }


@pytest.mark.parametrize(
    ("framing", "headers"),
    [
        ("chunked", {"Transfer-Encoding": "chunked"}),
        ("length", {"Content-Length": "10"}),
        ("close", {"Connection": "close"}),
    ],
)
def test_a_body_is_framed_as_asked(framing: Any, headers: dict[str, str], model_server: ThreadedModelServer) -> None:
    model_server.play([Reply((b"0123", b"456789"), delivery=Delivery(framing=framing))])
    response, body = post(model_server)
    assert (dict(response.getheaders()), body) == ({"Content-Type": "text/event-stream", **headers}, b"0123456789")


def test_each_chunk_on_the_wire_is_one_write_of_the_size_asked_for(model_server: ThreadedModelServer) -> None:
    model_server.play([Reply((b"abcd", b"e"), delivery=Delivery(piece=2))])
    with socket.create_connection(("127.0.0.1", int(model_server.origin.rpartition(":")[2])), timeout=5) as client:
        client.sendall(b"POST /chat/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
        raw = b"".join(iter(lambda: client.recv(65_536), b""))
    request = model_server.wait_for_disconnect()
    assert raw.partition(b"\r\n\r\n")[2] == b"2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n"
    assert (len(request.writes), request.bytes_sent) == (3, len(raw))


def test_gzip_streams_event_by_event_and_can_be_broken(model_server: ThreadedModelServer) -> None:
    plain = post(model_server)[1]
    model_server.play("gzip")
    response, body = post(model_server)
    assert (response.getheader("Content-Encoding"), gzip.decompress(body)) == ("gzip", plain)
    model_server.play("broken-gzip")
    broken = post(model_server)[1]
    with pytest.raises((OSError, EOFError, zlib.error)):
        gzip.decompress(broken)


def test_usage_is_told_to_those_who_ask(model_server: ThreadedModelServer) -> None:
    model_server.play([Reply(Said(("Hi",), Tokens(input=20, output=3, cached=8)))])
    asked = [json.loads(payload) for payload in payloads(post(model_server)[1]) if "usage" in payload]
    unasked = post(model_server, '{"stream": true}')[1]
    assert [(chunk["choices"], chunk["usage"]) for chunk in asked] == [
        (
            [],
            {
                "prompt_tokens": 20,
                "completion_tokens": 3,
                "total_tokens": 23,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
        )
    ]
    assert b"usage" not in unasked


@pytest.mark.parametrize("body", [BODY, "{}"])
def test_plain_json_comes_when_scripted_or_when_no_stream_was_asked_for(
    body: str, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said((*GREETING.parts, CALL)), plain="stream" in body)])
    response, raw = post(model_server, body)
    message = json.loads(raw)["choices"][0]["message"]
    assert response.getheader("Content-Type") == "application/json"
    assert message == {
        "role": "assistant",
        "content": GREETING.text,
        "tool_calls": [
            {"id": CALL.id, "type": "function", "function": {"name": CALL.name, "arguments": CALL.arguments}}
        ],
    }


def test_a_gated_reply_goes_on_write_by_write(model_server: ThreadedModelServer) -> None:
    model_server.play([says("one", "two", gated=True)])
    connection = http.client.HTTPConnection(model_server.origin.removeprefix("http://"), timeout=SECONDS)
    connection.request("POST", "/v1/chat/completions", '{"stream": true}')
    response = connection.getresponse()
    seen: list[bytes] = []
    for count in range(1, 6):
        assert len(model_server.requests[0].writes) == count - 1
        model_server.release()
        seen.append(response.readline() + response.readline())
    assert understand(b"".join(seen)) == Got("onetwo", finish="stop")
    assert response.read() == b""
    connection.close()


def test_paced_deltas_keep_their_distance(model_server: ThreadedModelServer) -> None:
    model_server.play([says("one", "two", gap=0.01)])
    post(model_server)
    times = model_server.requests[0].writes
    assert all(after - before >= 9_000_000 for before, after in itertools.pairwise(times))


def test_a_connection_is_kept_for_the_next_request(model_server: ThreadedModelServer) -> None:
    connection = http.client.HTTPConnection(model_server.origin.removeprefix("http://"), timeout=SECONDS)
    for _ in range(3):
        connection.request("POST", "/v1/chat/completions", BODY)
        local = connection.sock.getsockname()
        assert understand(connection.getresponse().read()) == said(GREETING)
        assert connection.sock.getsockname() == local
    connection.close()
    model_server.wait_for_disconnect(3)
    assert [request.closed_by for request in model_server.requests] == ["client"] * 3


def test_a_request_is_recorded_as_it_came(model_server: ThreadedModelServer) -> None:
    connection = http.client.HTTPConnection(model_server.origin.removeprefix("http://"), timeout=SECONDS)
    connection.request(
        "POST", "/any/prefix/chat/completions?x=1", iter([b'{"a":', b' "\xc3\xa9"}']), encode_chunked=True
    )
    connection.getresponse().read()
    connection.close()
    request = model_server.wait_for_request()
    assert (request.method, request.path, request.json) == ("POST", "/any/prefix/chat/completions?x=1", {"a": "é"})
    assert request.headers["transfer-encoding"] == "chunked"


def test_other_paths_are_models_requests_and_404(model_server: ThreadedModelServer) -> None:
    connection = http.client.HTTPConnection(model_server.origin.removeprefix("http://"), timeout=SECONDS)
    answers: dict[str, Any] = {}
    for path in ("/v1/models", "/nowhere", "/requests"):
        connection.request("GET", path)
        response = connection.getresponse()
        answers[path] = (response.status, json.loads(response.read()))
    connection.close()
    assert [model["id"] for model in answers["/v1/models"][1]["data"]] == ["test-model"]
    assert answers["/nowhere"][0] == 404
    assert [request["path"] for request in answers["/requests"][1]] == ["/v1/models", "/nowhere"]


def test_a_scenario_may_be_a_function_of_the_request(model_server: ThreadedModelServer) -> None:
    model_server.play(lambda body, number: says(f"{number}: {body['messages'][-1]}"))
    bodies = (json.dumps({"stream": True, "messages": [text]}) for text in ("a", "b"))
    assert [understand(post(model_server, body)[1]).text for body in bodies] == ["1: a", "2: b"]


def test_a_broken_script_fails_the_test_that_wrote_it() -> None:
    def broken(_body: Any, _number: int) -> Reply:
        raise ZeroDivisionError

    def play() -> None:
        with ThreadedModelServer(broken) as server, contextlib.suppress(http.client.RemoteDisconnected):
            post(server)

    with pytest.raises(ExceptionGroup) as failed:
        play()
    assert failed.group_contains(ZeroDivisionError)


async def test_in_the_same_loop_waits_end_when_it_happens() -> None:
    async with ModelServer([calls(CALL), stall_after(1)]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.origin.rpartition(":")[2]))
        waiting = asyncio.create_task(server.wait_for_disconnect(2))
        for _ in range(2):
            writer.write(STREAM_REQUEST)
            await reader.readuntil(b"data: ")
            await server.wait_for_request(1)
        await server.wait_for_request(2)
        assert not waiting.done()
        writer.close()
        await writer.wait_closed()
        assert (await waiting).closed_by == "client"


async def test_ending_the_server_ends_its_stalled_connections() -> None:
    async with ModelServer("stall") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.origin.rpartition(":")[2]))
        writer.write(STREAM_REQUEST)
        await server.wait_for_request()
    assert server.requests[0].closed_by == "server"
    await asyncio.wait_for(reader.read(), SECONDS)
    writer.close()
    await writer.wait_closed()


def test_as_a_process_it_prints_its_url_and_leaves_on_a_signal(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "tests.servers.model_server", "--scenario", "tool-call", "--port-file", port_file]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url == f"http://127.0.0.1:{port_file.read_text()}/v1"
            connection = http.client.HTTPConnection(url.removeprefix("http://").removesuffix("/v1"), timeout=SECONDS)
            connection.request("POST", "/v1/chat/completions", BODY)
            assert understand(connection.getresponse().read()) == said(Said((CALL,)))
            connection.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
