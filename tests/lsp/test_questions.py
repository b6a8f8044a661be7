"""Permission questions over the wire: asked with what would run, and settled once."""

import json
from pathlib import Path

import pytest

from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import runs, says


async def test_a_question_is_asked_with_what_would_run_and_the_first_answer_counts(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("echo hi > made"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    assert (asked["kind"], asked["command"]["display"], asked["command"]["cwd"]) == (
        "command",
        "echo hi > made",
        str(workspace),
    )
    assert not (workspace / "made").exists()
    for wrong in ({"decision": "yes"}, {}, {"decision": "allowEdited"}, {"decision": "deny", "command": "x"}):
        with pytest.raises(Refused, match="-32602"):
            await editor.request("marvin/permission/answer", {"permissionId": asked["id"], **wrong})
    assert await editor.decide(session_id, "allowOnce")
    assert not await editor.decide(session_id, "deny")
    await editor.event("turn.finished", session_id)
    assert (workspace / "made").read_text() == "hi\n"
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("allowOnce", "person")
    assert not await editor.decide(session_id, "allowOnce")


async def test_a_command_that_the_person_changed_runs_as_they_wrote_it(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("touch theirs"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.decide(session_id, "allowEdited", command="touch ours")
    await editor.event("turn.finished", session_id)
    assert [(workspace / name).exists() for name in ("theirs", "ours")] == [False, True]


@pytest.mark.parametrize(
    ("decision", "stop"), [("deny", "completed"), ("denyAndStop", "denied"), ("allowOnce", "completed")]
)
async def test_what_a_person_adds_to_an_answer_reaches_the_model(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer, decision: str, stop: str
) -> None:
    model_server.play([runs("touch made"), says("ok")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.decide(session_id, decision, note="Mind the gap")
    assert (await editor.event("turn.finished", session_id))["stopReason"] == stop
    said = [event["message"] for event in editor.events(session_id) if event["type"] == "message.finished"]
    assert "Mind the gap" in json.dumps(said)
    assert (workspace / "made").exists() == (decision == "allowOnce")


async def test_cancel_settles_a_question_as_denied(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([runs("touch made")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("permission.requested", session_id)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id})
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("deny", "cancelled")
    assert not await editor.decide(session_id, "allowOnce")
    assert not (workspace / "made").exists()
