"""A turn's changes taken back and brought back over the wire."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says

CREATE = Call("create_file", '{"path": "new.txt", "content": "made\\n"}')


async def created(editor: Editor, workspace: Path, model_server: ThreadedModelServer) -> tuple[str, str]:
    """A session and its turn that has made ``new.txt``."""
    model_server.play([calls(CREATE), says("Done.")])
    session_id = await editor.session(workspace)
    turn_id = await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    assert (workspace / "new.txt").read_text() == "made\n"
    return session_id, turn_id


async def take(editor: Editor, kind: str, session_id: str, turn_id: str, **params: Any) -> Any:
    return await editor.request(f"marvin/turn/{kind}", {"sessionId": session_id, "turnId": turn_id, **params})


async def test_a_turn_is_taken_back_and_brought_back(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id, turn_id = await created(editor, workspace, model_server)
    would = await take(editor, "undo", session_id, turn_id, dryRun=True)
    assert (workspace / "new.txt").exists()
    told = await take(editor, "undo", session_id, turn_id)
    assert told == would == {"applied": ["new.txt"], "failed": [], "preview": told["preview"], "notes": []}
    assert "-made" in told["preview"]
    assert not (workspace / "new.txt").exists()
    *_, said = (await editor.load(session_id))["items"]
    assert "took back" in said["message"]["parts"][0]["text"]
    assert (await take(editor, "redo", session_id, turn_id))["applied"] == ["new.txt"]
    types = [event["type"] for event in editor.events(session_id)]
    assert set(types[types.index("turn.finished") + 1 :]) <= {"patch.resolved"}
    assert (workspace / "new.txt").read_text() == "made\n"


async def test_a_file_that_was_changed_since_is_left_alone(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id, turn_id = await created(editor, workspace, model_server)
    (workspace / "new.txt").write_text("mine\n")
    told = await take(editor, "undo", session_id, turn_id)
    assert told["applied"] == []
    assert [failed["path"] for failed in told["failed"]] == ["new.txt"]
    assert (workspace / "new.txt").read_text() == "mine\n"


async def test_a_turn_of_an_earlier_process_is_taken_back_though_nobody_could_answer(
    start: Start, editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id, turn_id = await created(editor, workspace, model_server)
    assert await editor.leave() == 0
    other = await start(LLM_PROVIDER="anthropic")
    assert (await take(other, "undo", session_id, turn_id))["applied"] == ["new.txt"]
    assert not (workspace / "new.txt").exists()
    with pytest.raises(Refused, match="1003"):
        await other.turn(session_id)
    await other.request("marvin/config/set", {"sessionId": session_id, "name": "provider", "value": "openai-compat"})
    await other.turn(session_id)
    finished = await other.event("turn.started", session_id)
    assert finished["provider"] == "openai-compat"


async def test_nothing_is_taken_back_while_a_turn_runs_or_when_there_is_nothing(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    for kind in ("undo", "redo"):
        with pytest.raises(Refused, match=f"-32803: there is nothing to {kind}"):
            await take(editor, kind, session_id, "nothing")
    model_server.play([says("never", gated=True)])
    turn_id = await editor.turn(session_id)
    with pytest.raises(Refused, match="1002"):
        await take(editor, "undo", session_id, turn_id)
