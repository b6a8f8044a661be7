"""Tokens and money, models and status, as a client is told of them."""

from pathlib import Path

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply, Said, Tokens

TOKENS = {"input": 100, "output": 20, "cacheRead": 40, "cacheWrite": 0}
USED = {
    "tokens": TOKENS,
    "contextUsed": 120,
    "requests": 1,
    "models": [{"requests": 1, "tokens": TOKENS, "provider": "openai-compat", "model": "test-model"}],
    "lifetime": {"requests": 1, "tokens": TOKENS},
    "caps": [],
}


async def test_what_a_session_has_used_is_told_though_nobody_could_answer(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(100, 20, 40)))])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    other = await start(LLM_PROVIDER="anthropic")
    used = await other.request("marvin/usage/get", {"sessionId": session_id})
    assert used == USED


async def test_a_budget_and_what_other_sessions_have_used_are_told(
    start: Start, home: Path, noon: None, workspace: Path, model_server: ThreadedModelServer
) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {test-model: {input: 1, output: 1}}\nbudget: {day: 1, session: 0.5}\n")
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(500_000, 0)))])
    editor = await start()
    sessions = [await editor.session(workspace) for _ in range(3)]
    for session_id in sessions:
        await editor.turn(session_id)
        await editor.event("turn.finished", session_id)
    used = await editor.request("marvin/usage/get", {"sessionId": sessions[0]})
    assert (used["costUsd"], used["lifetime"]["costUsd"], used["lifetime"]["requests"]) == (0.5, 1.0, 2)
    assert used["caps"] == [
        {"span": "session", "capUsd": 0.5, "spentUsd": 0.5},
        {"span": "day", "capUsd": 1.0, "spentUsd": 1.0},
    ]
    end = await editor.event("turn.finished", sessions[2])
    assert end["stopReason"] == "budget"


async def test_usage_and_status_and_models_are_told(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("Hi",), tokens=Tokens(100, 20, 40)))])
    session_id = await editor.session(workspace)
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    before = await editor.request("marvin/usage/get", {"sessionId": session_id})
    assert before == {
        "tokens": nothing,
        "contextUsed": 0,
        "costUsd": 0.0,
        "requests": 0,
        "models": [],
        "lifetime": {"requests": 0, "tokens": nothing, "costUsd": 0.0},
        "caps": [],
    }
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    # The price of this model is unknown, and so is its context.
    used = await editor.request("marvin/usage/get", {"sessionId": session_id})
    assert used == USED
    told = await editor.request("marvin/status")
    assert (told["provider"], told["model"], told["auth"], told["busy"]) == (
        "openai-compat",
        "test-model",
        "ok",
        False,
    )
    listed = await editor.request("marvin/models/list", {"provider": "openai-compat", "refresh": True})
    (row,) = listed["providers"]
    assert (row["id"], row["status"]) == ("openai-compat", "ready")
    assert row["models"] == [{"id": "test-model"}]
    everything = await editor.request("marvin/models/list", seconds=20)
    assert {"anthropic", "offline", "openai-compat"} <= {row["id"] for row in everything["providers"]}
    with pytest.raises(Refused, match="-32602"):
        await editor.request("marvin/models/list", {"provider": "nobody"})
