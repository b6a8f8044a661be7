"""``marvin/oneShot``: one action for a client with a plugin."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said

PLACE = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}


def params(workspace: Path, **more: Any) -> Any:
    return {"action": "explain", "uri": (workspace / "README.md").as_uri(), "range": PLACE, **more}


async def test_it_runs_in_a_session_of_its_own(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    begun = await editor.request("marvin/oneShot", params(workspace, instruction="For a child."))
    await editor.event("turn.finished", begun["sessionId"])
    loaded = await editor.request("marvin/session/load", {"sessionId": begun["sessionId"]})
    assert loaded["session"]["title"] == "Explain README.md:1-2"
    asked = str(model_server.requests[0].json)
    assert "It is about README.md:1-2." in asked
    assert "For a child." in asked


async def test_it_runs_in_a_session_that_is_named_unless_that_is_busy(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("slow",)), delivery=Delivery(gated=True))])
    session_id = await editor.session(workspace)
    asked = params(workspace, sessionId=session_id)
    assert (await editor.request("marvin/oneShot", asked))["sessionId"] == session_id
    with pytest.raises(Refused) as refused:
        await editor.request("marvin/oneShot", asked)
    assert refused.value.code == 1002


async def test_another_version_of_the_document_is_refused(editor: Editor, workspace: Path) -> None:
    uri = (workspace / "README.md").as_uri()
    document = {"uri": uri, "languageId": "markdown", "version": 3, "text": "# A workspace\n"}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    with pytest.raises(Refused) as refused:
        await editor.request("marvin/oneShot", params(workspace, version=2))
    assert refused.value.code == -32801


async def test_a_question_needs_words(editor: Editor, workspace: Path) -> None:
    with pytest.raises(Refused, match="the action ask needs one"):
        await editor.request("marvin/oneShot", params(workspace, action="ask"))
