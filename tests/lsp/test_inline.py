"""Inline completion: off unless asked for, one bounded model request, nothing is changed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Refused
from tests.lsp.plain_editor import PlainEditor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said
from tests.servers.scenarios import says

CAPABILITIES = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}
HERE = {"line": 1, "character": 11}


async def connect(start: Start, workspace: Path, name: str = "sum.py", *, wanted: bool = True) -> PlainEditor:
    options = {"initializationOptions": {"inlineCompletion": wanted}}
    plain = await PlainEditor.connect(await start(initialize=False), workspace, CAPABILITIES, **options)
    text = "def plus(a, b):\n    return \n\nprint(plus(1, 2))\n"
    document = {"uri": (workspace / name).as_uri(), "languageId": "python", "version": 1, "text": text}
    plain.editor.notify("textDocument/didOpen", {"textDocument": document})
    return plain


def params(plain: PlainEditor, kind: int = 1, name: str = "sum.py") -> Any:
    uri = (plain.workspace / name).as_uri()
    return {"textDocument": {"uri": uri}, "position": HERE, "context": {"triggerKind": kind}}


async def complete(plain: PlainEditor, **options: Any) -> Any:
    return await plain.editor.request("textDocument/inlineCompletion", params(plain, **options))


@pytest.mark.parametrize("kind", [1, 2])
async def test_the_text_around_the_cursor_is_completed(
    start: Start, workspace: Path, model_server: ThreadedModelServer, kind: int
) -> None:
    model_server.play([says("a ", "+ b")])
    plain = await connect(start, workspace)
    items = [{"insertText": "a + b", "range": {"start": HERE, "end": HERE}}]
    assert await complete(plain, kind=kind) == {"items": items}
    asked = model_server.requests[0].json["messages"][-1]["content"]
    assert "    return <cursor/>\n\nprint(plus" in str(asked)
    assert "tools" not in model_server.requests[0].json


async def test_nothing_is_asked_unless_the_person_wants_it(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    plain = await connect(start, workspace, wanted=False)
    assert await complete(plain) == {"items": []}
    assert not model_server.requests


@pytest.mark.parametrize("name", [".env", ".env/prod", "link/.env", "link/prod", "../outside.py", "out.py"])
async def test_secrets_and_what_is_outside_of_the_workspace_are_not_sent(
    start: Start, workspace: Path, model_server: ThreadedModelServer, name: str
) -> None:
    secrets = workspace / "secrets"
    for folder in (secrets, secrets / ".env"):
        folder.mkdir()
    (workspace.parent / "outside.py").touch()
    (workspace / "out.py").symlink_to(workspace.parent / "outside.py")
    if name == ".env":
        (secrets / "prod").touch()
        (workspace / ".env").symlink_to("secrets/prod")
    (workspace / "link").symlink_to("secrets/.env" if name == "link/prod" else "secrets")
    plain = await connect(start, workspace, name)
    assert await complete(plain, name=name) == {"items": []}
    assert not model_server.requests


async def test_a_cancelled_request_closes_the_connection(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("never",)), delivery=Delivery(gated=True))])
    plain = await connect(start, workspace)
    asked = plain.editor.ask("textDocument/inlineCompletion", params(plain))
    await asyncio.to_thread(model_server.wait_for_request)
    plain.editor.notify("$/cancelRequest", {"id": asked})
    with pytest.raises(Refused, match="cancelled"):
        await plain.editor.answer(asked)
    await asyncio.to_thread(model_server.wait_for_disconnect)


async def test_the_next_request_ends_the_one_before_it_unasked(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("a + b")])
    plain = await connect(start, workspace)
    first, second = (plain.editor.ask("textDocument/inlineCompletion", params(plain, 2)) for _ in range(2))
    with pytest.raises(Refused, match="cancelled"):
        await plain.editor.answer(first)
    assert (await plain.editor.answer(second))["items"]
    assert len(model_server.requests) == 1


async def test_a_long_completion_is_cut(start: Start, workspace: Path, model_server: ThreadedModelServer) -> None:
    model_server.play([says(*["x" * 100] * 100)])
    plain = await connect(start, workspace)
    assert len((await complete(plain))["items"][0]["insertText"]) == 2000
