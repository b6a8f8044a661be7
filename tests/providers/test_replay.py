"""What a provider makes of a recorded exchange is what it made of the exchange itself, whatever went wrong in it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings as settings_module
from marvin_server.errors import BadRequest, ProviderError, TimedOut, UsageError
from marvin_server.events import MessageDelta, MessageFinished, Notice
from marvin_server.messages import Message, Text
from marvin_server.providers import recording, replay, selection
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.providers.replay_match import difference, gist
from marvin_server.providers.vendor_files import WIRE_APIS
from marvin_server.settings import Settings
from tests.patience import SECONDS
from tests.servers.model_server import ModelServer

KEY = "sk-acme-0123456789"
SILENT = ("stall", "silent-before-head")
FAULTS = (
    *("text", "thoughts", "tool-call", "two-tool-calls", "plain-json", "byte-by-byte", "split-utf8", "gzip"),
    *("status-401", "status-429-seconds", "status-500", "closed-before-head", "closed-after-head", "cut"),
    *("html-200", "html-502", "broken-gzip", "redirect", "empty-body", *SILENT),
)


def settings(
    home: Path, provider: str, record: Path | None = None, seconds: float = SECONDS, **environ: str
) -> Settings:
    places = {"HOME": str(home), "MARVIN_HOME": str(home / "marvin"), "ACME_KEY": KEY, **environ}
    loaded = settings_module.load({"provider": provider, "request_timeout": seconds, "stall_timeout": seconds}, places)
    return dataclasses.replace(loaded, record=record)


def add_vendor(home: Path, wire_api: str, url: str) -> None:
    file = home / "marvin" / "config" / "vendors" / "acme.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    vendor = {"wire_api": wire_api, "base_url": url, "key_variable": "ACME_KEY", "default_model": "test-model"}
    file.write_text(json.dumps(vendor))


def question(text: str = "Hello") -> ModelRequest:
    return ModelRequest("Be brief.", [Message("user", (Text(text),))], ())


async def outcome(provider: Provider, request: ModelRequest) -> Any:
    """The texts, the calls, the finish and the error of an answer: all but ids and times."""
    seen: list[object] = []
    try:
        async for event in provider.stream(request):
            if isinstance(event, MessageDelta | Notice):
                seen.append(event.text)
            elif isinstance(event, MessageFinished):
                message = event.message
                seen.append((message.text, [(c.name, c.arguments) for c in message.tool_calls], message.usage))
    except ProviderError as error:
        seen.append((type(error), str(error), error.status, error.retry_after))
    await provider.aclose()
    return seen


async def record(home: Path, wire_api: str, scenario: str, file: Path) -> Any:
    async with ModelServer(scenario) as server:
        add_vendor(home, wire_api, server.origin if wire_api == "ollama" else server.url)
        seconds = 0.5 if scenario in SILENT else SECONDS
        return await outcome(selection.choose(settings(home, "acme", file, seconds=seconds)).provider, question())


def replayed(home: Path, file: Path, *, seconds: float = SECONDS, **environ: str) -> Provider:
    replay = settings(home, "replay", None, seconds, MARVIN_REPLAY=str(file), **environ)
    return selection.choose(replay).provider


@pytest.mark.parametrize("scenario", FAULTS)
@pytest.mark.parametrize("wire_api", WIRE_APIS)
async def test_a_replay_ends_as_the_exchange_did(tmp_path: Path, wire_api: str, scenario: str) -> None:
    file = tmp_path / "run.jsonl"
    before = await record(tmp_path, wire_api, scenario, file)
    assert await outcome(replayed(tmp_path, file), question()) == before
    assert KEY not in file.read_text()


async def test_timing_is_replayed_where_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    await record(tmp_path, "openai_chat", "text", file)
    line = json.loads(file.read_text())
    line["response"]["ms"] = 10_000
    file.write_text(json.dumps(line, separators=(",", ":")) + "\n")
    (error,) = await outcome(replayed(tmp_path, file, seconds=0.5, MARVIN_REPLAY_TIMING="recorded"), question())
    assert error[0] is TimedOut
    assert (await outcome(replayed(tmp_path, file), question()))[0] == "Hello"


async def test_an_exchange_is_played_once(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    before = await record(tmp_path, "openai_chat", "text", file)
    provider = replayed(tmp_path, file)
    assert await outcome(provider, question()) == before
    (error,) = await outcome(provider, question())
    assert error[:2] == (
        BadRequest,
        "request 2 is not in the recording: none to /v1/chat/completions is left",
    )


async def test_a_loose_match_overlooks_the_system_prompt_but_not_the_question(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    before = await record(tmp_path, "openai_chat", "text", file)
    other = ModelRequest("Be long.", question().history, ())
    strict = await outcome(replayed(tmp_path, file), other)
    assert "differs at messages[0].content: recorded 'Be brief.', asked 'Be long.'" in strict[0][1]
    assert await outcome(replayed(tmp_path, file, MARVIN_REPLAY_MATCH="loose"), other) == before
    (error,) = await outcome(replayed(tmp_path, file, MARVIN_REPLAY_MATCH="loose"), question("Bye"))
    assert error[0] is BadRequest


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({"MARVIN_REPLAY": ""}, "needs a recording"),
        ({"MARVIN_REPLAY_MATCH": "roughly"}, "MARVIN_REPLAY_MATCH is exact or loose, not 'roughly'"),
    ],
)
def test_a_wrong_wish_is_a_usage_error(tmp_path: Path, environ: dict[str, str], problem: str) -> None:
    chosen = settings(tmp_path, "replay", None, SECONDS, **{"MARVIN_REPLAY": "run.jsonl", **environ})
    with pytest.raises(UsageError, match=problem):
        replay.providers(chosen)


def test_a_line_that_is_no_exchange_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"recording":2}\n')
    with pytest.raises(UsageError, match=r"run\.jsonl:1: this is no recorded exchange"):
        replayed(tmp_path, tmp_path / "run.jsonl")


PLACE = "Be brief.\n\nSystem: {}. Date: {}. Working directory: {}"


@pytest.mark.parametrize(
    ("recorded", "asked", "found"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, None),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, "a[1].b: recorded 'x', asked 'y'"),
        ({"a": [1]}, {"a": [1, 2]}, "a: recorded 1 items, asked 2"),
        ({"a": 1}, {"a": 1, "b": 2}, "b: only asked, not recorded"),
        ({"a": 1}, {}, "a: only recorded, not asked"),
        ({"a": 1}, {"a": "1"}, "a: recorded 1, asked '1'"),
        ({"tool_call_id": "call_1"}, {"tool_call_id": "call_2"}, None),
        ("the *** is", "the sk-123456 is", None),
        ("*** and ***", "one and", "body: recorded '*** and ***', asked 'one and'"),
        (PLACE.format("Linux", "2026-01-02", "/a"), PLACE.format("Darwin", "2027-03-04", "/b c"), None),
    ],
)
def test_the_first_difference_is_told(recorded: Any, asked: Any, found: str | None) -> None:
    assert difference(recorded, asked) == found


def test_the_gist_is_the_last_text_of_the_person_whatever_the_wire_api() -> None:
    blocks = [{"type": "text", "text": "Hi"}]
    results = {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}
    assert gist({"model": "m", "messages": [{"role": "user", "content": blocks}, results]}) == ("m", 2, "Hi")
    assert gist({"model": "m", "input": [{"role": "user", "content": "Hi"}]}) == ("m", 1, "Hi")
    assert gist({"model": "m"}) == ("m", 0, "")


async def test_an_answer_that_was_left_is_recorded_as_far_as_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with ModelServer("gated") as server:
        add_vendor(tmp_path, "openai_chat", server.url)
        provider = selection.choose(settings(tmp_path, "acme", file)).provider
        answer = provider.stream(question())
        server.release(2)
        assert isinstance(await anext(answer), MessageDelta)
        await answer.aclose()
        await server.wait_for_disconnect()
        await provider.aclose()
    (line,) = recording.read(file)
    assert line.ended == "left"
    assert line.response is not None
    assert b"".join(chunk.content for chunk in line.response.chunks).count(b"data: ") == 2


async def test_a_recording_that_cannot_be_written_costs_no_answer_but_stops_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with ModelServer("text") as server:
        add_vendor(tmp_path, "openai_chat", server.url)
        provider = selection.choose(settings(tmp_path, "acme", folder / "run.jsonl")).provider
        (folder / "run.jsonl").unlink()
        folder.rmdir()
        assert [type(event) async for event in provider.stream(question())][-1] is MessageFinished
        ((kind, text, *_),) = await outcome(provider, question())
        assert (kind, text) == (
            BadRequest,
            f"--record {folder}/run.jsonl: No such file or directory; the request was not sent",
        )
        assert len(server.requests) == 1
