"""Every method as clients with the abilities of real editors call it; pygls checks what the server sends."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from marvin_server.protocol.methods import METHODS
from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says

PROFILES = ("neovim@0.10.0", "neovim@0.11.0", "emacs@29.1", "visual-studio-code@1.65.2")


@pytest.fixture(params=PROFILES)
async def client(
    request: pytest.FixtureRequest, workspace: Path, model_environ: dict[str, str]
) -> AsyncIterator[LanguageClient]:
    command = [str(Path(sys.executable).with_name("marvin")), "lsp"]
    client: Any = await ClientServerConfig(command, server_env={**os.environ, **model_environ}).start()
    capabilities = pytest_lsp.client_capabilities(request.param)
    capabilities.experimental = {"marvin": {"protocolVersion": 1}}
    folder = types.WorkspaceFolder(workspace.as_uri(), workspace.name)
    await client.initialize_session(
        types.InitializeParams(capabilities, root_uri=workspace.as_uri(), workspace_folders=[folder])
    )
    yield client
    await client.shutdown_session()
    await client.stop()


async def test_every_method_answers(client: Any, workspace: Path, model_server: ThreadedModelServer) -> None:
    model_server.play([says("Hello.")])
    called: set[str] = set()

    async def ask(method: str, **params: Any) -> Any:
        called.add(f"marvin/{method}")
        return await client.protocol.send_request_async(f"marvin/{method}", params)

    session = (await ask("session/new", cwd=str(workspace), title="A tour")).session
    finished = asyncio.Event()

    @client.feature("marvin/turn/events")
    def _(params: Any) -> None:
        if any(event.type == "turn.finished" for event in params.events):
            finished.set()

    turn = await ask("turn/start", sessionId=session.id, input=[{"type": "text", "text": "Hello?"}])
    await asyncio.wait_for(finished.wait(), SECONDS)
    assert turn.state == "running"
    await ask("turn/cancel", sessionId=session.id)
    loaded = await ask("session/load", sessionId=session.id)
    assert [item.kind for item in loaded.items] == ["message", "message"]
    assert [each.id for each in (await ask("session/list", query="Hello")).sessions] == [session.id]
    assert (await ask("session/fork", sessionId=session.id)).session.parentId == session.id
    assert (await ask("session/update", sessionId=session.id, title="Toured")).session.title == "Toured"
    assert (await ask("usage/get", sessionId=session.id)).tokens.output > 0
    assert (await ask("status")).provider == "openai-compat"
    assert {option.name for option in (await ask("config/get", sessionId=session.id)).options} >= {"mode", "model"}
    assert (await ask("config/set", sessionId=session.id, name="mode", value="plan")).options
    assert (await ask("models/list", provider="openai-compat")).providers[0].status == "ready"
    assert (await ask("command/list", sessionId=session.id)).commands
    assert (await ask("complete", sessionId=session.id, text="look at @READ", cursor=13)).items[0].kind == "file"
    assert (await ask("job/list")).jobs == []
    assert not (await ask("permission/answer", permissionId="none", decision="deny")).accepted
    document = workspace / "README.md"
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(document.as_uri(), types.LanguageKind.Markdown, 0, document.read_text())
        )
    )
    shot = await ask("oneShot", action="explain", uri=document.as_uri(), version=0)
    assert shot.sessionId
    assert (await ask("context/get", sessionId=session.id)).blocks
    for method, params in {
        "session/compact": {"sessionId": session.id},
        "context/set": {"sessionId": session.id, "drop": ["none"]},
        "turn/undo": {"sessionId": session.id, "turnId": turn.turnId},
        "turn/redo": {"sessionId": session.id, "turnId": turn.turnId},
        "patch/resolve": {"patchId": "none", "accept": "all"},
        "job/cancel": {"jobId": "none"},
    }.items():
        with pytest.raises(Exception, match=r"."):
            await ask(method, **params)
    await ask("session/delete", sessionId=session.id)
    assert called == {name for name, method in METHODS.items() if method.direction == "toServer"}


async def test_a_file_that_is_open_is_edited_in_the_editor(
    client: Any, workspace: Path, model_server: ThreadedModelServer
) -> None:
    """The client of pytest-lsp takes edits as LSP has them; it answers, and then says what the text became."""
    document = workspace / "README.md"
    text = "# A workspace\nnot saved yet\n"
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(document.as_uri(), types.LanguageKind.Markdown, 1, text))
    )
    applied: list[types.ApplyWorkspaceEditParams] = []

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def _(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        applied.append(params)
        change = types.TextDocumentContentChangeWholeDocument("# A workspace\nunsaved\n")
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=2, uri=document.as_uri()), [change]
            )
        )
        return types.ApplyWorkspaceEditResult(applied=True)

    finished: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @client.feature("marvin/turn/events")
    def _(params: Any) -> None:
        for event in params.events:
            if event.type == "turn.finished" and not finished.done():
                finished.set_result(event)

    patch = '{"path": "README.md", "old_str": "not saved yet", "new_str": "unsaved"}'
    model_server.play([calls(Call("apply_patch", patch)), says("Done.")])
    session = (await client.protocol.send_request_async("marvin/session/new", {"cwd": str(workspace)})).session
    await client.protocol.send_request_async(
        "marvin/turn/start", {"sessionId": session.id, "input": [{"type": "text", "text": "Say it shorter."}]}
    )
    assert (await asyncio.wait_for(finished, SECONDS)).stopReason == "completed"
    (asked,) = applied
    assert asked.label
    assert document.read_text() == "# A workspace\n"
    assert "Changed README.md" in model_server.requests[-1].body.decode()
