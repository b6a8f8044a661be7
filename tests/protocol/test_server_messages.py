"""Whatever the real server sends is as the published schema says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import Editor, Refused
from tests.protocol.published_schema import SCHEMA, problems
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply, Said, Thought
from tests.servers.scenarios import calls, says

PATCH = json.dumps({"path": "main.py", "old_str": "+ 1", "new_str": "+ 2"})

# Events that other tests have seen.
_ELSEWHERE = {"notice", "compaction", "patch.proposed", "patch.applied", "patch.resolved"}


async def converse(editor: Editor, workspace: Path) -> dict[int, str]:
    """Use every method that the server has for what it is for; the requests' methods by their ids."""
    asked: dict[int, str] = {}

    async def ask(method: str, **params: Any) -> Any:
        request_id = editor.ask(f"marvin/{method}", params)
        asked[request_id] = f"marvin/{method}"
        return await editor.answer(request_id)

    session_id = (await ask("session/new", cwd=str(workspace)))["session"]["id"]
    await ask("turn/start", sessionId=session_id, input=[{"type": "text", "text": "Add more."}])
    question = (await editor.event("permission.requested", session_id))["permission"]["id"]
    await ask("session/load", sessionId=session_id)
    await ask("permission/answer", permissionId=question, decision="allowOnce")
    await editor.event("turn.finished", session_id)
    await ask("session/load", sessionId=session_id, limit=2)
    await ask("session/list", cwd=str(workspace))
    await ask("session/update", sessionId=session_id, title="Sums")
    await ask("turn/cancel", sessionId=session_id)
    await ask("usage/get", sessionId=session_id)
    await ask("models/list")
    await ask("status")
    with pytest.raises(Refused):
        await ask("turn/start", sessionId=session_id)
    await ask("session/delete", sessionId=session_id)
    return asked


def unlike_the_schema(message: dict[str, Any], asked: dict[int, str]) -> list[str]:
    if "method" in message:
        part, shape = message["params"], SCHEMA["methods"][message["method"]]["params"]
    elif "error" in message:
        part, shape = message["error"]["data"], SCHEMA["errorData"]
    elif message["id"] in asked:
        part, shape = message["result"], SCHEMA["methods"][asked[message["id"]]]["result"]
    else:
        part, shape = message["result"]["capabilities"]["experimental"]["marvin"], SCHEMA["initialize"]["server"]
    return [f"{message.get('method') or asked.get(message['id'])}: {problem}" for problem in problems(part, shape)]


async def test_all_messages_of_a_conversation_are_as_the_schema_says(
    tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    (tmp_path / "main.py").write_text("total = 1 + 1\n")
    thinks = Reply(Said((Thought("Hm."), "I look. ", Call("read_file", '{"path": "main.py"}'))))
    runs = calls(Call("apply_patch", PATCH), Call("run_command", '{"command": "cat main.py"}'))
    model_server.play([thinks, runs, says("Done.")])
    editor = await Editor.start(tmp_path, model_environ)
    try:
        await editor.initialize()
        asked = await converse(editor, tmp_path)
    finally:
        await editor.close()
    assert [line for message in editor.messages for line in unlike_the_schema(message, asked)] == []
    seen = {event["type"] for message in editor.messages for event in message.get("params", {}).get("events", ())}
    assert SCHEMA["events"].keys() - seen <= _ELSEWHERE
