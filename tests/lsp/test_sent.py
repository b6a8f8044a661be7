"""What is sent with each prompt, as an editor shows and changes it."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer


async def sent(editor: Editor, session_id: str, **change: Any) -> dict[str, Any]:
    method = "marvin/context/set" if change else "marvin/context/get"
    return await editor.request(method, {"sessionId": session_id, **change})


async def test_an_editor_sees_every_block_and_pins_what_is_typed_but_not_saved(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "notes.txt").write_text("on disk\n")
    session_id = await editor.session(workspace)
    first = await sent(editor, session_id)
    names = [block["name"] for block in first["blocks"]]
    assert names[:2] == ["rules", "coding mode"]
    assert first["tokens"] == sum(block["tokens"] for block in first["blocks"])
    uri = (workspace / "notes.txt").as_uri()
    document = {"uri": uri, "languageId": "text", "version": 1, "text": "typed, not saved\n"}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    after = await sent(editor, session_id, pin=["notes.txt"], drop=["skills"])
    pinned = {block["name"]: block for block in after["blocks"]}
    assert (pinned["notes.txt"]["kind"], pinned["notes.txt"]["canDrop"]) == ("pin", True)
    assert pinned["skills"]["isSent"] is False
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    system = model_server.requests[0].json["messages"][0]["content"]
    assert "typed, not saved" in system
    assert "find-the-cause" not in system
    last = await sent(editor, session_id, drop=["notes.txt"], restore=["skills"])
    assert "notes.txt" not in {block["name"] for block in last["blocks"]}
    assert any(block["kind"] == "conversation" for block in last["blocks"])


async def test_a_wrong_name_is_refused_with_those_that_there_are(editor: Editor, workspace: Path) -> None:
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match="there is nothing called 'rules' that can be dropped"):
        await sent(editor, session_id, drop=["rules"])
    with pytest.raises(Refused, match="File not found"):
        await sent(editor, session_id, pin=["missing.txt"])


async def test_what_nobody_has_accepted_is_named_and_not_asked_about(editor: Editor, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("Use tabs.\n")
    session_id = await editor.session(workspace)
    told = await sent(editor, session_id)
    assert told["notes"] == ["AGENTS.md is not in it yet: with the next prompt you are asked about it"]
    assert "AGENTS.md" not in {block["name"] for block in told["blocks"]}
