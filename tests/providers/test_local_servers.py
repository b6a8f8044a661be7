"""What is said of a model server on this machine, whatever is there in its place."""

import asyncio
from pathlib import Path

import pytest

from marvin_server.providers.failures import Endpoint
from marvin_server.providers.local_servers import SECONDS, Standing
from marvin_server.providers.local_servers import standing as standing_within
from tests import patience
from tests.providers.raw_server import Talk, serving
from tests.servers.authority import Authority
from tests.servers.model_server import ModelServer

NOBODY = "http://127.0.0.1:9"


async def standing(endpoint: Endpoint, wire_api: str) -> Standing:
    """As it is, but for a machine that is busy."""
    return await standing_within(endpoint, wire_api, patience.SECONDS)


def endpoint(url: str, key: str | None = None) -> Endpoint:
    return Endpoint("Box", url, key, "", "")


def saying(answer: bytes, asked: list[bytes] | None = None) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if asked is not None:
            asked.append(request)
        writer.write(answer)

    return talk


def http(status: str, body: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("wire_api", ["openai_chat", "openai_responses", "anthropic"])
async def test_a_server_that_lists_models_serves(wire_api: str) -> None:
    async with ModelServer() as server:
        there = await standing(endpoint(server.url), wire_api)
    assert there == Standing(True, True, f"answers at {server.url}")


async def test_localhost_is_this_machine_and_a_full_address_is_fine() -> None:
    async with ModelServer() as server:
        url = server.url.replace("127.0.0.1", "box.localhost") + "/chat/completions"
        assert await standing(endpoint(url), "openai_chat") == Standing(True, True, f"answers at {url}")


@pytest.mark.parametrize("wire_api", ["openai_chat", "ollama"])
async def test_nobody_there_is_not_running(wire_api: str) -> None:
    assert await standing(endpoint(NOBODY), wire_api) == Standing(False, False, f"nothing answers at {NOBODY}")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (http("404 Not Found"), "what answers at {} lists no models (HTTP 404)"),
        (http("200 OK", "<html>"), "what answers at {} is not understood (Expecting value: line 1 column 1 (char 0))"),
        (http("200 OK", '{"data": {}}'), "what answers at {} lists no models"),
        (http("200 OK", "[" * 100_000), "what answers at {} is not understood ("),
        (b"220 mail ready\r\n\r\n", "what answers at {} is not understood ("),
        (b"", "what answers at {} is not understood ("),
        (http("200 OK", "x" * 10)[:-5], "what answers at {} is not understood ("),
    ],
)
async def test_whatever_else_answers_is_no_model_server(answer: bytes, text: str) -> None:
    async with serving(saying(answer)) as server:
        there = await standing(endpoint(server.url), "openai_chat")
    assert (there.is_running, there.serves) == (True, False)
    assert there.text.startswith(text.format(server.url))


async def test_one_that_never_answers_is_given_up() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(talk) as server:
        there = await standing_within(endpoint(server.url), "openai_chat", SECONDS)
        await server.wait_until(lambda: server.ended == 1)
    assert there == Standing(True, False, f"no answer from {server.url} within 0.2 s")


@pytest.mark.parametrize(("key", "said"), [(None, "wants a key"), ("sk-secret", "refuses the key")])
async def test_a_key_is_sent_and_its_refusal_told_without_it(key: str | None, said: str) -> None:
    asked: list[bytes] = []
    async with serving(saying(http("401 Unauthorized"), asked)) as server:
        url = server.url.replace("//", "//me:pass@") + "?token=1"
        there = await standing(endpoint(url, key), "openai_chat")
    assert there == Standing(True, False, f"{server.url} {said} (HTTP 401)")
    [request] = asked
    assert request.startswith(b"GET /v1/models?token=1 HTTP/1.1\r\n")
    assert (b"authorization: Bearer sk-secret" in request) == (key is not None)


async def test_tls_is_spoken_and_the_certificate_checked(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority.create(tmp_path_factory.mktemp("authority"))
    listing = saying(http("200 OK", '{"data": []}'))
    async with serving(listing, trust=authority.server("IP:127.0.0.1")) as server:
        unknown = await standing(endpoint(server.url), "openai_chat")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
        known = await standing(endpoint(server.url), "openai_chat")
    assert (unknown.serves, "certificate" in unknown.text) == (False, True)
    assert known == Standing(True, True, f"answers at {server.url}")


@pytest.mark.parametrize("url", ["http://127.0.0.1.example.com/v1", "http://10.0.0.1/v1", "http://localhost.evil/v1"])
async def test_no_other_machine_is_asked(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not this machine"):
        await standing(endpoint(url), "openai_chat")
