"""What a person changes of a session while it is open."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says

RUN = Call("run_command", '{"command": "echo hello"}')


async def get(editor: Editor, **params: Any) -> dict[str, Any]:
    return {each["name"]: each["value"] for each in (await editor.request("marvin/config/get", params))["options"]}


async def set_(editor: Editor, name: str, value: Any, **params: Any) -> dict[str, Any]:
    told = await editor.request("marvin/config/set", {"name": name, "value": value, **params})
    return {each["name"]: each["value"] for each in told["options"]}


HELD = {"mode": "auto", "provider": "openai-compat", "model": "test-model", "thinking": "default"}


async def test_options_come_with_what_they_may_be(editor: Editor) -> None:
    options = (await editor.request("marvin/config/get"))["options"]
    assert {each["name"]: each["value"] for each in options} == HELD
    choices = {each["name"]: [choice["value"] for choice in each["choices"]] for each in options}
    assert choices["mode"] == ["plan", "review", "auto", "full"]
    assert choices["thinking"] == ["default", "none", "low", "medium", "high"]
    assert choices["model"] == []
    assert {"openai-compat", "offline"} < set(choices["provider"])


async def test_an_option_without_a_session_holds_for_those_that_begin_later(editor: Editor, workspace: Path) -> None:
    before = await editor.session(workspace)
    assert await set_(editor, "mode", "plan") == {**HELD, "mode": "plan"}
    assert await get(editor, sessionId=before) == HELD
    after = await editor.session(workspace)
    assert await get(editor, sessionId=after) == {**HELD, "mode": "plan"}


async def test_options_that_are_set_at_the_same_time_all_hold(editor: Editor, workspace: Path) -> None:
    options = {"model": "other", "mode": "plan"}
    asked = [editor.ask("marvin/config/set", {"name": name, "value": value}) for name, value in options.items()]
    for each in asked:
        await editor.answer(each)
    assert await get(editor) == {**HELD, **options}
    made = (await editor.request("marvin/session/new", {"cwd": str(workspace)}))["session"]
    assert (made["mode"], made["model"]) == ("plan", "other")


async def test_another_model_answers_the_next_turn_and_the_client_is_told(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("slow", gated=True), says("quick")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    model_server.wait_for_request()
    assert await set_(editor, "model", "other", sessionId=session_id) == {**HELD, "model": "other"}
    told = [m["params"]["session"]["model"] for m in editor.messages if m.get("method") == "marvin/session/changed"]
    assert told[-1] == "other"
    model_server.release(9)
    await editor.event("turn.finished", session_id)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id, nth=2)
    assert [request.json["model"] for request in model_server.requests] == ["test-model", "other"]
    started = [event["model"] for event in editor.events(session_id) if event["type"] == "turn.started"]
    assert started == ["test-model", "other"]


async def test_another_provider_answers_with_its_own_model(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    held = await set_(editor, "provider", "offline", sessionId=session_id)
    assert held == {**HELD, "provider": "offline", "model": "offline"}
    await editor.turn(session_id, "Where is the README?")
    assert (await editor.event("turn.started", session_id, nth=2))["provider"] == "offline"
    await editor.event("turn.finished", session_id, nth=2)
    await set_(editor, "provider", "openai-compat", sessionId=session_id)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id, nth=3)
    assert len(model_server.requests) == 2


async def test_how_much_the_model_thinks_is_asked_of_it_from_the_next_turn_on(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    assert (await set_(editor, "thinking", "high", sessionId=session_id))["thinking"] == "high"
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    assert model_server.requests[0].json["reasoning_effort"] == "high"
    assert (await set_(editor, "thinking", "default", sessionId=session_id))["thinking"] == "default"


async def test_mode_full_lets_the_next_command_of_a_running_turn_run(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(RUN), calls(RUN), says("done")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("permission.requested", session_id)
    await set_(editor, "mode", "full", sessionId=session_id)
    await editor.decide(session_id, "allowOnce")
    await editor.event("turn.finished", session_id)
    types = [event["type"] for event in editor.events(session_id)]
    assert (types.count("permission.requested"), types.count("tool.finished")) == (1, 2)


async def test_mode_plan_denies_what_is_asked_and_what_comes_after(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(RUN), calls(RUN), says("stopped")])
    session_id = await editor.session(workspace, mode="full")
    await set_(editor, "mode", "auto", sessionId=session_id)
    await editor.turn(session_id)
    await editor.event("permission.requested", session_id)
    await set_(editor, "mode", "plan", sessionId=session_id)
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("deny", "mode plan")
    await editor.event("turn.finished", session_id)
    statuses = [event["status"] for event in editor.events(session_id) if event["type"] == "tool.finished"]
    assert set(statuses) <= {"denied", "error"}
    tools = [tool["function"]["name"] for tool in model_server.requests[-1].json["tools"]]
    assert "read_file" in tools
    assert "run_command" not in tools


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mode", "yolo", "mode must be one of plan, review, auto, full, not 'yolo'"),
        ("mode", 1, "mode must be one of plan, review, auto, full, not 1"),
        ("thinking", "", "thinking must be one of default, none, low, medium, high"),
        ("model", " ", "model must be a name"),
        ("provider", "nobody", "provider must be one of "),
        ("sandbox", "off", "there is no option 'sandbox'; there are: mode, provider, model, thinking"),
        ("approve", "all", "there is no option 'approve'"),
    ],
)
async def test_what_cannot_be_is_refused_with_what_can(
    editor: Editor, workspace: Path, name: str, value: Any, message: str
) -> None:
    session_id = await editor.session(workspace)
    for where in ({}, {"sessionId": session_id}):
        with pytest.raises(Refused, match="-32602") as refused:
            await set_(editor, name, value, **where)
        assert message in str(refused.value)
        assert await get(editor, **where) == HELD


async def test_a_provider_without_a_key_is_refused_and_nothing_changes(editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match=r"1003.*ANTHROPIC_API_KEY"):
        await set_(editor, "provider", "anthropic", sessionId=session_id)
    assert await get(editor, sessionId=session_id) == HELD


async def test_options_can_be_changed_while_nobody_could_answer(start: Start) -> None:
    editor = await start(LLM_PROVIDER="anthropic")
    assert await get(editor) == {"mode": "auto", "provider": "anthropic", "model": "", "thinking": "default"}
    assert (await set_(editor, "mode", "review"))["mode"] == "review"
    assert (await set_(editor, "provider", "openai-compat"))["model"] == "test-model"


async def test_an_unknown_session_has_no_options(editor: Editor) -> None:
    for method, params in (("get", {}), ("set", {"name": "mode", "value": "plan"})):
        with pytest.raises(Refused, match="1001"):
            await editor.request(f"marvin/config/{method}", {"sessionId": "nothing", **params})


async def test_a_refused_key_is_told_in_the_status(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play("status-401")
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    finished = await editor.event("turn.finished", session_id)
    told = await editor.until(
        lambda one: one.get("method") == "marvin/status/changed" and one["params"]["kind"] == "warning"
    )
    assert told["params"] == {"busy": False, "kind": "warning", "message": finished["error"]["message"]}
