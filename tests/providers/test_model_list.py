import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings as settings_module
from marvin_server.errors import Auth, BadRequest, Interrupted, ProviderError, Unreachable
from marvin_server.providers import model_list, vendors
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings
from tests.servers.http_server import Answer, HttpServer, Mark, Request

KEY = "sk-very-secret"


def settings(home: Path, **environ: str) -> Settings:
    return settings_module.load({}, {"HOME": str(home), "MARVIN_HOME": str(home / "marvin"), **environ})


def vendor(home: Path, wire_api: str = "openai_chat") -> Vendor:
    return Vendor(
        name="acme",
        title="Acme",
        file=home / "acme.json",
        wire_api=wire_api,
        base_url="https://acme.example/v1",
        url_variable="ACME_URL",
        key_variable="ACME_KEY",
    )


def answering(status: int, value: object, **headers: str) -> Callable[[Request], Answer]:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda _: Answer(status, list(headers.items()), (body,), length=len(body))


def offering(*names: str) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


async def fetch(server: HttpServer, asked: Vendor, path: str = "/v1", key: str | None = KEY) -> tuple[str, ...]:
    return await model_list.fetch(asked, f"http://127.0.0.1:{server.port}{path}", key, check_key="ACME_KEY")


def sent(request: Request, *names: str) -> Mapping[str, str | None]:
    return {name: request.headers.get(name) for name in names}


@pytest.mark.parametrize(
    ("path", "asked_at"),
    [
        ("/v1", "/v1/models"),
        ("/v1/", "/v1/models"),
        ("/v1/chat/completions", "/v1/models"),
        ("/v1?api-version=2", "/v1/models?api-version=2"),
    ],
)
async def test_an_openai_vendor_lists_its_models(tmp_path: Path, path: str, asked_at: str) -> None:
    async with HttpServer(answering(200, offering("b", "a", "models/c"))) as server:
        assert await fetch(server, vendor(tmp_path), path) == ("a", "b", "c")
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", asked_at)
    assert sent(request, "authorization", "x-api-key") == {"authorization": f"Bearer {KEY}", "x-api-key": None}


async def test_a_bare_list_will_do_and_without_a_key_none_is_sent(tmp_path: Path) -> None:
    async with HttpServer(answering(200, [{"id": "a"}])) as server:
        assert await fetch(server, vendor(tmp_path), key=None) == ("a",)
    assert sent(server.requests[0], "authorization") == {"authorization": None}


@pytest.mark.parametrize("path", ["", "/v1", "/v1/messages"])
async def test_anthropic_lists_its_models_page_by_page(tmp_path: Path, path: str) -> None:
    def respond(request: Request) -> Answer:
        first = "after_id" not in request.path
        page = {**offering("one" if first else "two"), "has_more": first, "last_id": "one" if first else "two"}
        return answering(200, page)(request)

    async with HttpServer(respond) as server:
        assert await fetch(server, vendor(tmp_path, "anthropic"), path) == ("one", "two")
    assert [request.path for request in server.requests] == [
        "/v1/models?limit=1000",
        "/v1/models?limit=1000&after_id=one",
    ]
    wanted = {"x-api-key": KEY, "anthropic-version": "2023-06-01", "authorization": None}
    assert [sent(request, *wanted) for request in server.requests] == [wanted, wanted]


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (401, {"error": {"message": f"Incorrect API key: {KEY}"}}, Auth),
        (403, {"error": {"message": "no"}}, Auth),
        (404, {"error": {"message": "no such page"}}, BadRequest),
        (200, b"<html>Sign in</html>", BadRequest),
        (200, {"data": ["a"]}, BadRequest),
        (200, {"models": []}, BadRequest),
        (200, b"[" * 100_000, BadRequest),
    ],
)
async def test_what_is_no_list_is_one_line_without_the_key(
    tmp_path: Path, status: int, answer: object, error: type[ProviderError]
) -> None:
    async with HttpServer(answering(status, answer)) as server:
        with pytest.raises(error) as caught:
            await fetch(server, vendor(tmp_path))
    assert str(caught.value).startswith(f"Acme (127.0.0.1:{server.port}) answered ")
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_redirect_is_not_followed_so_that_the_key_goes_nowhere_else(tmp_path: Path) -> None:
    async with HttpServer(answering(200, offering("a"))) as other:
        target = f"http://localhost:{other.port}/v1/models"
        async with HttpServer(answering(307, {}, Location=target)) as server:
            with pytest.raises(BadRequest, match="not followed"):
                await fetch(server, vendor(tmp_path))
    assert other.requests == []


async def test_an_answer_that_breaks_off_is_told(tmp_path: Path) -> None:
    async with HttpServer(lambda _: Answer(200, (), (b'{"data": [', Mark.CUT), length=1000)) as server:
        with pytest.raises(Interrupted, match=r"127\.0\.0\.1"):
            await fetch(server, vendor(tmp_path))


async def test_nobody_there_is_unreachable(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match=r"cannot reach 127\.0\.0\.1"):
            await model_list.fetch(
                vendor(tmp_path), f"http://127.0.0.1:{unused.getsockname()[1]}/v1", KEY, check_key="ACME_KEY"
            )


async def test_the_last_answer_is_kept_for_the_address_that_gave_it(tmp_path: Path) -> None:
    asked = vendor(tmp_path)
    async with HttpServer(answering(200, offering("b", "a"))) as server:
        chosen = settings(tmp_path, ACME_URL=f"http://127.0.0.1:{server.port}/v1", ACME_KEY=KEY)
        assert model_list.cached(asked, chosen) is None
        listing = await model_list.refresh(asked, chosen)
    assert listing == model_list.Listing(f"http://127.0.0.1:{server.port}/v1", listing.at, ("a", "b"))
    assert model_list.cached(asked, chosen) == listing
    assert model_list.cached(asked, settings(tmp_path, ACME_URL="http://127.0.0.1:1/v1")) is None
    (tmp_path / "marvin" / "cache" / "models" / "acme.json").write_text('{"url": 1}')
    assert model_list.cached(asked, chosen) is None


async def test_a_vendor_without_its_key_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(Auth, match="run: marvin login acme"):
        await model_list.refresh(vendor(tmp_path), settings(tmp_path))


async def test_ollama_lists_what_is_installed(tmp_path: Path) -> None:
    ollama = vendors.load("ollama", settings(tmp_path))
    async with HttpServer(answering(200, {"models": [{"name": "qwen3:8b"}, {"name": "llama3"}]})) as server:
        chosen = settings(tmp_path, OLLAMA_HOST=f"127.0.0.1:{server.port}")
        assert (await model_list.refresh(ollama, chosen)).models == ("llama3", "qwen3:8b")
    with pytest.raises(Unreachable, match="ollama serve"):
        await model_list.refresh(ollama, chosen)
