import gc
import os
import shutil
import warnings
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from marvin_server import settings
from marvin_server.errors import Auth, BadRequest, ProviderError, TimedOut, Unreachable, UsageError
from marvin_server.events import Compacted, MessageDelta, MessageFinished, TurnFinished
from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, ToolSpec, user_message
from marvin_server.providers import copilot, copilot_prompt
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.copilot import Copilot
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.store import Store
from tests.patience import SECONDS
from tests.servers.model_server import ModelServer
from tests.servers.reply import CALL, DONE, GREETING, OTHER_CALL, Delivery, Reply, Said, Scenario
from tests.servers.scenarios import calls

_CACHE = Path(__file__).parents[2] / ".cache" / "copilot"
COMMAND = os.environ.get("COPILOT_CLI_PATH") or next(
    (str(found) for found in sorted(_CACHE.glob("node_modules/@github/copilot-*/copilot"))), ""
)
real = pytest.mark.skipif(
    not os.environ.get("CI") and (find_spec("copilot") is None or not COMMAND),
    reason="the SDK of Copilot and its command are not installed",
)

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolSpec("read_file", "Read a file.", PARAMETERS)
GREP = ToolSpec("code_grep", "Search.", {"type": "object", "properties": {"pattern": {"type": "string"}}})
ASK = ModelRequest("Be brief.", [user_message("hi \ud83d")], [READ, GREP])


@pytest.fixture(autouse=True)
def pipes() -> Iterator[None]:
    """The SDK leaves the pipes to its process for the collector to close, which warns of each."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def unpacked(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command unpacks its 235 MB once for all tests, not once for each home."""
    monkeypatch.setenv("COPILOT_PKG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "copilot"))


@asynccontextmanager
async def connected(
    server: ModelServer, home: Path, *, request_timeout: float = SECONDS, stall_timeout: float = SECONDS
) -> AsyncGenerator[Copilot]:
    folder = home / "copilot"
    folder.mkdir(exist_ok=True)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PKG_CACHE_HOME": os.environ["COPILOT_PKG_CACHE_HOME"],
        "COPILOT_PROVIDER_BASE_URL": server.url,
        "COPILOT_PROVIDER_API_KEY": "sk-none",
        "COPILOT_MODEL": "test-model",
    }
    provider = Copilot(
        model="test-model",
        command=COMMAND,
        home=str(folder),
        environ=environ,
        request_timeout=request_timeout,
        stall_timeout=stall_timeout,
    )
    try:
        yield provider
    finally:
        await provider.aclose()


async def events_of(provider: Copilot, request: ModelRequest) -> list[StreamEvent]:
    return [event async for event in provider.stream(request)]


async def message_of(provider: Copilot, request: ModelRequest) -> Message:
    last = (await events_of(provider, request))[-1]
    assert isinstance(last, MessageFinished)
    return last.message


def said_to(server: ModelServer) -> list[Any]:
    return [request.json for request in server.requests if request.method == "POST"]


@real
async def test_an_answer_streams_with_our_prompt_and_our_tools_alone(home: Path) -> None:
    async with ModelServer() as server, connected(server, home) as provider:
        events = await events_of(provider, ASK)
        body = said_to(server)[-1]
    last = events[-1]
    assert isinstance(last, MessageFinished)
    assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == GREETING.text
    assert last.message.parts == (Text(GREETING.text),)
    assert (last.message.provider, last.message.model, last.message.finish) == ("copilot", "test-model", "stop")
    assert last.message.usage
    assert (last.message.usage.input, last.message.usage.output) == (12, 5)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read_file", "code_grep"]


@real
async def test_a_turn_with_two_tool_calls_runs_in_our_loop_and_in_one_session(home: Path) -> None:
    scenario: Scenario = [calls(CALL, OTHER_CALL), Reply(DONE), calls(CALL), Reply(GREETING)]
    async with ModelServer(scenario) as server, connected(server, home) as provider:
        history: list[Message] = list(ASK.history)
        for _ in range(2):
            asked = await message_of(provider, replace(ASK, history=history))
            results = tuple(ToolResult(one.id, one.name, f"result of {one.name}") for one in asked.tool_calls)
            history += [asked, Message("tool", results)]
            answered = await message_of(provider, replace(ASK, history=history))
            history += [answered, user_message("and now?")]
        bodies = said_to(server)
    first, second = (message.tool_calls for message in history if message.tool_calls)
    assert first == (
        ToolCall("call_1", "read_file", '{"path": "README.md"}'),
        ToolCall("call_2", "code_grep", '{"pattern": "marvin"}'),
    )
    assert second[0].id != "call_1"
    assert [message.text for message in history if message.role == "assistant"] == ["", "Done.", "", GREETING.text]
    assert [message["role"] for message in bodies[-1]["messages"]] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool"),
    ]
    tools = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert tools == ["result of read_file", "result of code_grep", "result of read_file"]


@real
async def test_a_conversation_that_the_session_has_not_seen_is_told_to_a_new_one(home: Path) -> None:
    call = ToolCall("1", "read_file", "{}")
    history = [
        user_message("What is in a?"),
        Message("assistant", (Text("I look."), call)),
        Message("tool", (ToolResult("1", "read_file", "x" * 60_000),)),
        Message("assistant", (Text("Many x."),)),
        user_message("How many?"),
    ]
    async with ModelServer() as server, connected(server, home) as provider:
        await events_of(provider, ASK)
        await events_of(provider, replace(ASK, history=history))
        messages = said_to(server)[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert copilot_prompt.render(history) in messages[1]["content"]


@real
async def test_a_long_result_reaches_the_model_whole(home: Path) -> None:
    async with ModelServer([calls(CALL), Reply(DONE)]) as server, connected(server, home) as provider:
        asked = await message_of(provider, ASK)
        answer = Message("tool", (ToolResult("call_1", "read_file", "x" * 200_000),))
        await events_of(provider, replace(ASK, history=[*ASK.history, asked, answer]))
        assert said_to(server)[-1]["messages"][-1]["content"] == "x" * 200_000


@real
@pytest.mark.parametrize("scenario", ["unknown-tool", "arguments-not-json", "arguments-cut", "no-arguments"])
async def test_a_call_that_cannot_be_run_does_not_end_the_conversation(scenario: str, home: Path) -> None:
    async with ModelServer(scenario) as server, connected(server, home) as provider:
        asked = await message_of(provider, ASK)
        results = tuple(ToolResult(one.id, one.name, "that cannot be run", "error") for one in asked.tool_calls)
        answered = await message_of(provider, replace(ASK, history=[*ASK.history, asked, Message("tool", results)]))
        assert len(asked.tool_calls) == 1
        assert answered.text == "Done."


@real
async def test_a_turn_that_was_left_between_rounds_begins_a_new_session(home: Path) -> None:
    async with ModelServer([calls(CALL), Reply(DONE)]) as server, connected(server, home) as provider:
        asked = await message_of(provider, ASK)
        cancelled = Message("tool", (ToolResult("call_1", "read_file", "cancelled", "cancelled"),))
        history = [*ASK.history, asked, cancelled, user_message("Something else.")]
        assert (await message_of(provider, replace(ASK, history=history))).text == "Done."
        messages = said_to(server)[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert "cancelled" in messages[1]["content"]


@real
async def test_cancelling_aborts_the_turn_and_the_next_one_works(home: Path) -> None:
    scenario = [Reply(GREETING, delivery=Delivery(gated=True)), Reply(DONE)]
    async with ModelServer(scenario) as server, connected(server, home) as provider:
        async with aclosing(provider.stream(ASK)) as events:
            server.release(2)
            assert isinstance(await anext(events), MessageDelta)
        request = await server.wait_for_disconnect()
        assert request.closed_by == "client"
        assert (await message_of(provider, ASK)).text == "Done."


@real
async def test_a_session_that_took_too_long_is_built_anew(home: Path) -> None:
    async with ModelServer("stall") as server, connected(server, home, stall_timeout=1.0) as provider:
        with pytest.raises(TimedOut, match="took too long"):
            await events_of(provider, ASK)
        server.play("text")
        assert (await message_of(provider, ASK)).text == GREETING.text


@real
@pytest.mark.parametrize(("scenario", "kind"), [("status-401", Auth), ("status-400", BadRequest)])
async def test_a_refusal_is_an_error_of_its_kind(scenario: str, kind: type[ProviderError], home: Path) -> None:
    async with ModelServer(scenario) as server, connected(server, home) as provider:
        with pytest.raises(ProviderError) as caught:
            await events_of(provider, ASK)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


@real
async def test_a_command_that_is_no_copilot_is_unreachable(home: Path) -> None:
    provider = Copilot(
        model="x",
        command=shutil.which("false") or "false",
        home=str(home),
        environ=os.environ.copy(),
        request_timeout=SECONDS,
        stall_timeout=SECONDS,
    )
    with pytest.raises(Unreachable, match="GitHub Copilot cannot be used"):
        await events_of(provider, ASK)
    await provider.aclose()


def test_a_lone_prompt_is_rendered_as_it_is_and_a_history_as_text() -> None:
    picture = Image("image/png", "iVBORw0=")
    history = [
        Message("user", (Text("Look."), picture)),
        Message("assistant", (Text("I do."), ToolCall("1", "read_file", '{"path": "a"}'))),
        Message("tool", (ToolResult("1", "read_file", "b", images=(picture,)),)),
    ]
    assert copilot_prompt.render([user_message("hi")]) == "hi"
    assert copilot_prompt.pictures(history) == [picture, picture]
    assert copilot_prompt.render(history) == (
        "The conversation so far:\n\n<user>\nLook.\n</user>\n\n<assistant>\nI do.\n</assistant>\n\n"
        '<tool_call>\nread_file {"path": "a"}\n</tool_call>\n\n<tool_result name="read_file">\nb\n</tool_result>\n\n'
        "The user now says:\n\nGo on."
    )


@real
@pytest.mark.parametrize(
    ("config", "environ", "expected"),
    [
        (None, {}, False),
        (None, {"COPILOT_GITHUB_TOKEN": "github_pat_x"}, True),
        (None, {"GH_TOKEN": "github_pat_x"}, False),
        ('// made by copilot\n{"loggedInUsers": [{"login": "me"}]}', {}, True),
        ('{"logged_in_users": []}', {}, False),
    ],
)
def test_a_login_is_found_without_starting_copilot(
    config: str | None, environ: dict[str, str], expected: bool, tmp_path: Path
) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    found = {"COPILOT_CLI_PATH": COMMAND, "COPILOT_HOME": str(tmp_path), **environ}
    assert copilot.logged_in(found) is expected
    assert not copilot.logged_in({**found, "COPILOT_CLI_PATH": "", "PATH": str(tmp_path)})


@real
def test_a_missing_command_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    chosen = settings.load({}, {**os.environ, "PATH": str(tmp_path)})
    with pytest.raises(UsageError, match="npm install -g @github/copilot"):
        copilot.create(chosen)


@real
async def test_a_conversation_that_is_too_long_goes_on_with_a_summary_in_a_new_session(
    home: Path, tmp_path: Path
) -> None:
    def answer(body: Any, _number: int) -> Reply:
        is_summary = "You write the memory of Marvin" in str(body["messages"][0])
        return Reply(Said(("## Task\nTell jokes.",) if is_summary else ("A joke.",)))

    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {test-model: {context: 16000}}\n")
    (tmp_path / "workspace").mkdir()
    loaded = settings.load({}, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
    store = Store.open(tmp_path / "marvin.db")
    compacted: list[Compacted] = []
    async with ModelServer(answer) as server, connected(server, home) as provider:
        opened = open_session(loaded, Choice(provider, free=True), store, tmp_path / "workspace", rounds=10)
        subscription = opened.session.subscribe()
        for number in range(8):
            opened.session.submit(f"Joke {number}, please. {'A long story. ' * 500}")
            async for _, event in subscription:
                if isinstance(event, Compacted):
                    compacted.append(event)
                if isinstance(event, TurnFinished):
                    assert event.stop_reason == "completed", event
                    break
        await opened.session.close()
        bodies = said_to(server)
    store.close()
    assert {event.by for event in compacted} == {"test-model"}
    assert "Tell jokes." in str(bodies[-1]["messages"])
    assert "Joke 1, please." not in str(bodies[-1]["messages"])
