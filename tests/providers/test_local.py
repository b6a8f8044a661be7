import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.errors import BadRequest, ContextOverflow, Interrupted, TimedOut, Unreachable, UsageError
from marvin_server.events import MessageDelta, MessageFinished, Notice
from marvin_server.messages import Message, Text, ToolCall, ToolResult, ToolSpec, user_message
from marvin_server.providers import local, replay
from marvin_server.providers.anthropic import Anthropic
from marvin_server.providers.base import ModelRequest, Provider, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.local import Local
from marvin_server.providers.local_engine import Engine
from marvin_server.providers.openai_chat import OpenAIChat
from marvin_server.providers.openai_responses import OpenAIResponses
from marvin_server.providers.transport import Transport
from marvin_server.workspace.process import Processes
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(
    not os.environ.get("CI") and any(find_spec(name) is None for name in ("xllamacpp", "gguf", "numpy")),
    reason="the engine and what makes a model for it are not installed",
)

ANSWER = ("Hello", " from", " a", " real", " engine", ".")
READ = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
ASK = ModelRequest("Be brief.", [user_message("hi")], [])
OWNER = """
import asyncio, os, sys
from pathlib import Path
from marvin_server.providers.local_engine import Engine

async def main():
    engine = await Engine.start(Path(sys.argv[1]), name="tiny", context=512, seconds=60, environ=os.environ)
    print(engine.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file that calls ``read_file`` on README.md when it may, and then says ``ANSWER``."""
    from tests.servers import tiny_gguf

    file = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_gguf.write(file, answer=ANSWER, tool="read_file", value="README.md")
    return file


@asynccontextmanager
async def loaded(file: Path, *, request_timeout: float = SECONDS, context: int = 4096) -> AsyncGenerator[Local]:
    provider = Local(
        file, request_timeout=request_timeout, stall_timeout=SECONDS, environ=os.environ.copy(), context=context
    )
    try:
        yield provider
    finally:
        await provider.aclose()


async def events_of(provider: Local, request: ModelRequest = ASK) -> list[StreamEvent]:
    return [event async for event in provider.stream(request)]


async def message_of(provider: Local, request: ModelRequest) -> Message:
    last = (await events_of(provider, request))[-1]
    assert isinstance(last, MessageFinished)
    return last.message


def load(environ: Mapping[str, str] = {}, **flags: object) -> settings.Settings:
    return settings.load(flags, {**os.environ, **environ})


async def test_a_file_answers_and_loading_it_is_told_once(model: Path) -> None:
    async with loaded(model) as provider:
        first, second = await events_of(provider), await events_of(provider)
    assert first[0] == Notice("note", "loading tiny …")
    assert [event.text for event in first if isinstance(event, MessageDelta)] == list(ANSWER)
    assert "".join(event.text for event in second if isinstance(event, MessageDelta)) == "".join(ANSWER)
    assert not any(isinstance(event, Notice) for event in second)
    last = first[-1]
    assert isinstance(last, MessageFinished)
    assert (last.message.provider, last.message.model, last.message.finish) == ("local", "tiny", "stop")
    assert last.message.usage
    assert last.message.usage.output == len(ANSWER) + 1


async def test_a_whole_turn_with_a_tool_call(model: Path) -> None:
    async with loaded(model) as provider:
        request = ModelRequest("Be brief.", [user_message("What is in the README?")], [READ])
        asked = await message_of(provider, request)
        (call,) = asked.tool_calls
        assert call == ToolCall(call.id, "read_file", '{"path":"README.md"}')
        result = Message("tool", (ToolResult(call.id, "read_file", "# Shop"),))
        history = [*request.history, asked, result]
        answered = await message_of(provider, ModelRequest("Be brief.", history, [READ]))
    assert (asked.finish, answered.finish) == ("tool_calls", "stop")
    assert answered.parts == (Text("".join(ANSWER)),)


@pytest.mark.parametrize("api", [OpenAIChat, OpenAIResponses, Anthropic])
async def test_the_same_engine_is_spoken_to_over_every_wire_api(model: Path, api: Callable[..., Provider]) -> None:
    engine = await Engine.start(model, name="tiny", context=4096, seconds=30, environ=os.environ.copy())
    endpoint = Endpoint("llama.cpp", engine.url, engine.key, "-", "-")
    transport = Transport(request_timeout=SECONDS, stall_timeout=SECONDS)
    provider = api(name="tiny", model="tiny", endpoint=endpoint, transport=transport)
    try:
        request = ModelRequest("Be brief.", [user_message("What is in the README?")], [READ])
        asked = (await last_of(provider, request)).message
        (call,) = asked.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("read_file", {"path": "README.md"})
        history = [*request.history, asked, Message("tool", (ToolResult(call.id, "read_file", "# Shop"),))]
        assert (await last_of(provider, ModelRequest("Be brief.", history, [READ]))).message.text == "".join(ANSWER)
        with pytest.raises(ContextOverflow):
            await last_of(provider, ModelRequest("Be brief.", [user_message("word " * 6000)], []))
    finally:
        await provider.aclose()
        await engine.stop()


async def last_of(provider: Provider, request: ModelRequest) -> MessageFinished:
    events = [event async for event in provider.stream(request)]
    assert isinstance(events[-1], MessageFinished)
    return events[-1]


async def test_a_conversation_that_does_not_fit_is_a_context_overflow(model: Path) -> None:
    async with loaded(model, context=512) as provider:
        with pytest.raises(ContextOverflow, match=r"exceeds the available context size \(512 tokens\)"):
            await events_of(provider, ModelRequest("", [user_message("long " * 2000)], []))
        assert (await message_of(provider, ASK)).text == "".join(ANSWER)


async def test_what_passes_between_marvin_and_the_engine_can_be_recorded_and_played(
    model: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "run.jsonl"
    provider = local.create(dataclasses.replace(load(model=str(model)), record=recording))
    try:
        answers = [await message_of(provider, ASK)]
        await provider.aclose()
        answers.append(await message_of(provider, ASK))
    finally:
        await provider.aclose()
    (played,) = replay.providers(load(model=str(recording)))
    assert (played.name, played.model) == ("local", "tiny")
    for answer in answers:
        last = (await last_of(played, ASK)).message
        assert (last.parts, last.usage) == (answer.parts, answer.usage)
    assert {json.loads(line)["provider"]["wire_api"] for line in recording.read_text().splitlines()} == {"openai_chat"}


def test_a_recording_that_cannot_be_written_is_refused_before_the_engine_starts(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        local.create(dataclasses.replace(load(model=str(model)), record=tmp_path))


async def test_a_provider_that_was_closed_starts_its_engine_again(model: Path) -> None:
    async with loaded(model) as provider:
        await events_of(provider)
        await provider.aclose()
        assert (await events_of(provider))[0] == Notice("note", "loading tiny …")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the engine by way of /proc")
async def test_an_engine_that_crashed_is_started_again(model: Path) -> None:
    async with loaded(model) as provider:
        await events_of(provider)
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        (engine,) = [pid for pid in children if b"local_child.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(int(engine), signal.SIGKILL)
        # The first request may be sooner than the news of it.
        with contextlib.suppress(Interrupted, Unreachable):
            await events_of(provider)
        assert (await message_of(provider, ASK)).text == "".join(ANSWER)


async def test_the_engine_answers_its_owner_alone(model: Path) -> None:
    engine = await Engine.start(model, name="tiny", context=512, seconds=SECONDS, environ=os.environ.copy())
    try:
        assert engine.url.startswith("http://127.0.0.1:")
        for key, status in ((engine.key, b"200"), ("guess", b"401")):
            host, _, port = engine.url.removeprefix("http://").removesuffix("/v1").partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
            assert (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1] == status
            writer.close()
            await writer.wait_closed()
    finally:
        await engine.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="waits on a pidfd")
async def test_the_engine_is_not_taken_for_what_a_command_has_left_behind(model: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    processes, began = Processes(), asyncio.Event()
    command = asyncio.create_task(
        processes.run(
            ["/bin/sh", "-c", "echo began; read -r _ < go"],
            cwd=tmp_path,
            environ=os.environ,
            timeout=30,
            emit=lambda _: began.set(),
        )
    )
    await asyncio.wait_for(began.wait(), SECONDS)
    engine = await Engine.start(model, name="tiny", context=512, seconds=SECONDS, environ=os.environ.copy())
    try:
        (tmp_path / "go").write_text("go\n")
        assert (await command).exit_code == 0
        assert engine.alive
    finally:
        await engine.stop()


async def test_the_engine_ends_when_its_owner_is_killed(model: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(model), stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout
    pid = int(await asyncio.wait_for(owner.stdout.readline(), SECONDS))
    ended = await asyncio.to_thread(os.pidfd_open, pid)
    try:
        owner.send_signal(signal.SIGKILL)
        await owner.wait()
        await asyncio.wait_for(readable(ended), SECONDS)
    finally:
        os.close(ended)


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    loop.add_reader(descriptor, told.set)
    try:
        await told.wait()
    finally:
        loop.remove_reader(descriptor)


@pytest.mark.parametrize(("kept", "reason"), [(1_000_000, "not within the file bounds"), (6, "")])
async def test_a_broken_file_is_an_error_in_one_line_with_the_engines_reason(
    kept: int, reason: str, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(model.read_bytes()[:kept])
    async with loaded(file) as provider:
        with pytest.raises(BadRequest) as caught:
            await events_of(provider)
    assert str(caught.value).startswith(f"{file} cannot be loaded: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_loading_takes_no_longer_than_a_request_may(model: Path) -> None:
    async with loaded(model, request_timeout=0.001) as provider:
        with pytest.raises(TimedOut, match=r"was not loaded within 0\.001 s"):
            await events_of(provider)


async def test_cancelling_while_the_model_loads_ends_the_engine(model: Path) -> None:
    async with loaded(model) as provider:
        events = provider.stream(ASK)
        assert isinstance(await anext(events), Notice)
        loading = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert (await message_of(provider, ASK)).text == "".join(ANSWER)


@pytest.mark.parametrize(
    ("content", "words"), [(None, "No such file"), (b"", "no GGUF file"), (b"PK\3\4", "no GGUF file")]
)
def test_what_is_no_model_file_is_refused_before_anything_starts(
    content: bytes | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        local.create(load(model=str(file)))


def test_a_folder_is_no_model_and_none_at_all_neither(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        local.create(load(model=str(tmp_path)))
    with pytest.raises(UsageError, match="name one with --model or MARVIN_LOCAL_MODEL"):
        local.create(load())


async def test_the_model_comes_from_the_flag_or_the_variable(model: Path) -> None:
    for chosen in (load(model=str(model)), load({"MARVIN_LOCAL_MODEL": str(model)})):
        provider: Any = local.create(chosen)
        assert provider.model == "tiny"
        await provider.aclose()
