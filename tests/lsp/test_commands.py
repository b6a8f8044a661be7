"""Commands that a person sends in place of a prompt, and what completes the words of one."""

import os
from pathlib import Path
from typing import Any

import pytest

from marvin_server import paths
from marvin_server.session import custom_commands
from marvin_server.session.trust import Acceptances
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says


async def command(editor: Editor, session_id: str, text: str) -> list[str]:
    """The lines that the turn of the command says."""
    told = await editor.request(
        "marvin/turn/start", {"sessionId": session_id, "input": [{"type": "text", "text": text}]}
    )
    assert told["state"] == "running"

    def batches() -> list[Any]:
        sent = [one["params"] for one in editor.messages if one.get("method") == "marvin/turn/events"]
        return [batch for batch in sent if batch["turnId"] == told["turnId"]]

    await editor.until(lambda _: any(event["type"] == "turn.finished" for b in batches() for event in b["events"]))
    first, *notices, last = [event for batch in batches() for event in batch["events"]]
    assert (first["type"], last["type"], last["stopReason"]) == ("turn.started", "turn.finished", "completed")
    assert {notice["type"] for notice in notices} == {"notice"}
    return [notice["text"] for notice in notices]


async def complete(editor: Editor, text: str, cursor: int | None = None, **params: Any) -> list[Any]:
    asked = {"text": text, "cursor": len(text) if cursor is None else cursor, **params}
    return (await editor.request("marvin/complete", asked))["items"]


async def test_every_command_that_is_listed_does_something(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(Call("create_file", '{"path": "new.txt", "content": "made"}')), says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    listed = (await editor.request("marvin/command/list", {"sessionId": session_id}))["commands"]
    names = [each["name"] for each in listed if each["name"] != "compact"]  # see test_compact.py
    said = {name: await command(editor, session_id, f"/{name}") for name in names}
    assert len(said.pop("help")) == len(listed)
    assert said.pop("usage")[0].startswith("Total: 2 requests, ")
    assert said.pop("context")[-1].endswith(" for test-model (openai-compat), price unknown")
    assert said == {
        "mode": ["Mode: auto"],
        "model": ["Model: test-model"],
        "provider": ["Provider: openai-compat"],
        "thinking": ["Thinking: default"],
        "undo": ["Taken back: new.txt"],
        "redo": ["Brought back: new.txt"],
    }
    assert len(model_server.requests) == 2
    assert (workspace / "new.txt").read_text() == "made"


async def test_a_command_changes_an_option_and_is_no_part_of_the_conversation(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    assert await command(editor, session_id, "/mode plan") == ["Mode: plan"]
    assert await command(editor, session_id, " /model  other ") == ["Model: other"]
    loaded = await editor.load(session_id)
    assert (loaded["session"]["mode"], loaded["session"]["model"], loaded["items"]) == ("plan", "other", [])
    await editor.turn(session_id, "/etc/hosts is wrong")
    await editor.event("turn.finished", session_id, nth=3)
    assert model_server.requests[0].json["messages"][-1]["content"] == "/etc/hosts is wrong"


async def test_a_command_names_who_answered_last_in_a_session_of_an_earlier_process(
    start: Start, editor: Editor, workspace: Path
) -> None:
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    other = await start(LLM_PROVIDER="anthropic")
    await command(other, session_id, "/help")
    started = await other.event("turn.started", session_id)
    assert (started["provider"], started["model"]) == ("openai-compat", "test-model")


async def test_a_command_that_cannot_be_carried_out_is_refused(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await editor.session(workspace)
    for text, message in (
        ("/mode yolo", "-32602: mode must be one of plan, review, auto, full"),
        ("/help me", "-32602: /help takes nothing after it"),
        ("/undo", "-32803: there is nothing to undo"),
    ):
        with pytest.raises(Refused, match=message):
            await editor.turn(session_id, text)
    model_server.play([says("never", gated=True)])
    await editor.turn(session_id)
    with pytest.raises(Refused, match=r"1002.*config/set"):
        await editor.turn(session_id, "/mode plan", whenBusy="queue")


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)


async def test_a_command_that_the_person_wrote_is_listed_completed_and_sent_as_its_prompt(
    editor: Editor, home: Path, workspace: Path, model_server: ThreadedModelServer
) -> None:
    folder = home / "marvin" / "config" / "commands"
    write(folder, "look-into", "---\ndescription: Look at a file\narguments: FILE\n---\nReview $1 for $ARGUMENTS.\n")
    write(folder, "undo", "never\n")
    session_id = await editor.session(workspace)
    listed = (await editor.request("marvin/command/list", {"sessionId": session_id}))["commands"]
    assert listed[-1] == {
        "name": "look-into",
        "description": "Look at a file",
        "argumentHint": "FILE",
    }
    assert [each["description"] for each in listed if each["name"] == "undo"] != ["never"]
    assert [each["label"] for each in await complete(editor, "/look-", sessionId=session_id)] == ["/look-into"]
    assert "/look-into FILE: Look at a file" in await command(editor, session_id, "/help")
    await editor.turn(session_id, '/look-into "a b.py" bugs')
    await editor.event("turn.finished", session_id, nth=2)
    assert model_server.requests[0].json["messages"][-1]["content"] == 'Review a b.py for "a b.py" bugs.'


async def test_a_projects_command_is_refused_until_its_text_was_accepted(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    write(workspace / ".marvin/commands", "ship", "Ship it.\n")
    session_id = await editor.session(workspace)
    with pytest.raises(Refused, match="-32803: /ship is the project's"):
        await editor.turn(session_id, "/ship")
    found = custom_commands.find(workspace / "none", workspace)["ship"].project
    assert found is not None
    Acceptances(paths.find(dict(os.environ)).trust("default")).add(found, "commands")
    await editor.turn(session_id, "/ship now")
    await editor.event("turn.finished", session_id)
    assert model_server.requests[0].json["messages"][-1]["content"] == "Ship it.\n\nnow"


async def test_files_are_completed_without_what_git_ignores(editor: Editor, workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "src" / "deep").mkdir(parents=True)
    for name in ("src/main.py", "src/deep/my main.py", "main.log", "ärger.txt"):
        (workspace / name).write_text("")
    session_id = await editor.session(workspace)
    files = await complete(editor, "look at @main", sessionId=session_id)
    assert files == [
        {"label": "main.py", "insertText": "@src/main.py", "kind": "file", "detail": "src"},
        {"label": "my main.py", "insertText": '@"src/deep/my main.py"', "kind": "file", "detail": "src/deep"},
    ]
    assert await complete(editor, "@dee") == [
        {"label": "deep/", "insertText": "@src/deep/", "kind": "folder", "detail": "src"},
        {"label": "my main.py", "insertText": '@"src/deep/my main.py"', "kind": "file", "detail": "src/deep"},
    ]
    top = [item["label"] for item in await complete(editor, "@")]
    assert top == [".gitignore", "README.md", "src/", "ärger.txt"]
    assert await complete(editor, "mail@main") == []
    assert await complete(editor, "@main ") == []


@pytest.mark.parametrize(("encoding", "cursor"), [("utf-8", 9), ("utf-16", 7), ("utf-32", 6)])
async def test_the_cursor_counts_in_the_negotiated_encoding(
    start: Start, workspace: Path, encoding: str, cursor: int
) -> None:
    editor = await start(initialize=False)
    capabilities = {
        "general": {"positionEncodings": [encoding]},
        "experimental": {"marvin": {"protocolVersion": 1}},
    }
    await editor.initialize(capabilities=capabilities)
    items = await complete(editor, "𝄞 @readme and more", cursor)
    assert [item["insertText"] for item in items] == ["@README.md"]
    assert [item["insertText"] for item in await complete(editor, "@readme", 10**9)] == ["@README.md"]
    with pytest.raises(Refused, match="-32602: cursor"):
        await complete(editor, "@readme", -1)


async def test_commands_are_completed_where_the_prompt_begins(editor: Editor) -> None:
    assert await complete(editor, "/mod") == [
        {
            "label": "/mode",
            "insertText": "/mode",
            "kind": "command",
            "detail": "Show what Marvin may do without asking, or change it",
        },
        {
            "label": "/model",
            "insertText": "/model",
            "kind": "command",
            "detail": "Show the model that answers, or go on with another one",
        },
    ]
    assert len(await complete(editor, "/")) == 10
    assert await complete(editor, "see /mod") == []
    assert await complete(editor, "/mode ") == []


async def test_a_folder_that_is_gone_completes_to_nothing(editor: Editor, workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    session_id = await editor.session(folder)
    folder.rmdir()
    assert await complete(editor, "@a", sessionId=session_id) == []


async def test_there_are_no_jobs_to_list_or_to_cancel(editor: Editor) -> None:
    assert await editor.request("marvin/job/list") == {"jobs": []}
    with pytest.raises(Refused, match="-32602: there is no job 'x'"):
        await editor.request("marvin/job/cancel", {"jobId": "x"})
