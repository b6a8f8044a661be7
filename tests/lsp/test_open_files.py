"""A whole turn on files that are open in the editor: read unsaved, edited while the person types, saved for a command,
reviewed and taken back."""

from pathlib import Path

import pytest

from tests.lsp.buffers import CAPABILITIES, Buffers
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.lsp.person import answers, call, editor, person
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

__all__ = ["editor", "person"]


async def finished(editor: Editor, session_id: str, *, nth: int = 1) -> str:
    return (await editor.event("turn.finished", session_id, nth=nth))["stopReason"]


async def test_the_capabilities_say_how_documents_are_told(start: Start) -> None:
    editor = await start(initialize=False)
    capabilities = (await editor.initialize(capabilities=CAPABILITIES))["capabilities"]
    assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2, "save": {"includeText": True}}
    assert capabilities["workspace"]["workspaceFolders"] == {"supported": True, "changeNotifications": True}


async def test_a_turn_reads_edits_and_runs_what_is_open_while_the_person_types_and_one_undo_takes_it_back(
    editor: Editor, person: Buffers, repository: Path, model_server: ThreadedModelServer
) -> None:
    basket = repository / "shop" / "basket.py"
    on_disk = basket.read_text()
    uri = person.open(basket, f"# unsaved\n\n{on_disk}")
    wrong = next(line for line in on_disk.splitlines() if "return" in line)
    model_server.play(
        [
            call("read_file", path="shop/basket.py"),
            call("apply_patch", path="shop/basket.py", old_str=wrong, new_str="    return sum(prices)"),
            call("run_command", command="cat shop/basket.py"),
            says("Done."),
        ]
    )
    typed = [f"# mine {number}\n" for number in range(2)]
    person.on_edit = lambda: typed and person.type(uri, 0, 0, typed.pop(0)) if len(typed) == 2 else None
    session_id = await editor.session(repository)
    turn_id = await editor.turn(session_id, "Fix total.")
    await editor.event("permission.requested", session_id)
    edited = f"# mine 0\n# unsaved\n\n{on_disk.replace(wrong, '    return sum(prices)')}"
    assert (person.text(uri), basket.read_text()) == (edited, on_disk)
    assert await editor.decide(session_id, "allowOnce")
    assert await finished(editor, session_id) == "completed"
    read, _, ran = answers(model_server)
    assert "# unsaved" in read
    # What is unsaved is the person's too, so it is theirs to save.
    assert (person.saved, "sum(prices)" in ran) == ([], False)
    undone = await editor.request("marvin/turn/undo", {"sessionId": session_id, "turnId": turn_id})
    assert (undone["applied"], undone["failed"]) == (["shop/basket.py"], [])
    assert (person.text(uri), basket.read_text()) == (f"# mine 0\n# unsaved\n\n{on_disk}", on_disk)


async def test_a_command_sees_what_marvin_wrote_in_the_editor_and_the_editor_what_the_command_did(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    file = workspace / "README.md"
    uri = person.open(file)
    model_server.play(
        [
            call("apply_patch", path="README.md", old_str="# A workspace", new_str="# Marvin's"),
            call("run_command", command="cat README.md; echo formatted > README.md"),
            call("read_file", path="README.md"),
            says("Done."),
        ]
    )
    session_id = await editor.session(workspace, mode="full")
    await editor.turn(session_id)
    assert await finished(editor, session_id) == "completed"
    _, ran, read = answers(model_server)
    assert person.saved == [uri]
    assert "# Marvin's" in ran
    assert "formatted" in read


async def test_hunks_are_reviewed_one_by_one_and_a_rejected_one_is_taken_back_in_the_editor(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    file = workspace / "a.txt"
    file.write_text("".join(f"line {number}\n" for number in range(30)))
    uri = person.open(file)
    patch = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n line 1\n-line 2\n+two\n line 3\n@@\n line 20\n-line 21\n"
        "+twenty-one\n line 22\n*** End Patch"
    )
    model_server.play([call("apply_patch", patch=patch), says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    assert await finished(editor, session_id) == "completed"
    applied = (await editor.event("patch.applied", session_id))["patch"]
    pending = (await editor.load(session_id))["pendingPatches"]
    assert [each["id"] for each in pending] == [applied["id"]]
    first, second = [hunk["id"] for hunk in applied["edits"][0]["hunks"]]
    person.put(uri, "line 0\n", "mine\n")
    params = {"patchId": applied["id"], "accept": [first], "reject": [{"hunkId": second, "reason": "No."}]}
    assert await editor.request("marvin/patch/resolve", params) == {"applied": [first, second], "failed": []}
    expected = file.read_text().replace("line 0\n", "mine\n").replace("line 2\n", "two\n", 1)
    assert person.text(uri) == expected
    assert (await editor.load(session_id))["pendingPatches"] == []
    with pytest.raises(Refused, match="1007"):
        await editor.request("marvin/patch/resolve", params)
    with pytest.raises(Refused, match="1005"):
        await editor.request("marvin/patch/resolve", {"patchId": "none", "accept": "all"})


async def test_an_edit_that_the_editor_does_not_show_fails_and_leaves_the_disk_alone(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    file = workspace / "README.md"
    person.open(file)
    person.manner = "lying"
    change = call("apply_patch", path="README.md", old_str="# A workspace", new_str="# Marvin's")
    model_server.play([change, says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id, 10)
    assert "not confirmed by the editor" in answers(model_server)[0]
    assert file.read_text() == "# A workspace\n"


async def both_files_on_their_way(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> str:
    """The session of a turn that waits for the editor to confirm an edit of one file, with another one on disk."""
    (workspace / "b.txt").write_text("bee\n")
    person.open(workspace / "README.md")
    person.manner = "silent"
    patch = (
        "*** Begin Patch\n*** Update File: README.md\n-# A workspace\n+# Marvin's\n"
        "*** Update File: b.txt\n-bee\n+BEE\n*** End Patch"
    )
    model_server.play([call("apply_patch", patch=patch), says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await editor.until(lambda message: message.get("method") == "workspace/applyEdit")
    return session_id


def assert_as_it_was(workspace: Path) -> None:
    assert {path.name: path.read_text() for path in workspace.iterdir()} == {
        "README.md": "# A workspace\n",
        "b.txt": "bee\n",
    }


async def test_a_cancelled_turn_waits_for_no_edit_and_leaves_nothing_behind(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    session_id = await both_files_on_their_way(editor, person, workspace, model_server)
    await editor.request("marvin/turn/cancel", {"sessionId": session_id})
    finished = await editor.event("turn.finished", session_id, 1.5)
    assert finished["stopReason"] == "cancelled"
    assert_as_it_was(workspace)


@pytest.mark.parametrize("way", ["shutdown", "end of input"])
async def test_the_end_of_the_connection_waits_for_no_edit_and_leaves_nothing_behind(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer, way: str
) -> None:
    await both_files_on_their_way(editor, person, workspace, model_server)
    if way == "shutdown":
        assert await editor.leave() == 0
    else:
        assert editor.process.stdin
        editor.process.stdin.close()
        assert await editor.exit_code() == 1
    assert_as_it_was(workspace)


async def test_an_open_file_of_one_bare_line_end_that_is_not_on_disk_is_created_in_the_editor(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    uri = person.open(workspace / "new.py", "\n")
    model_server.play([call("create_file", path="new.py", content="print(1)\n"), says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    assert await finished(editor, session_id) == "completed"
    assert (person.text(uri), (workspace / "new.py").exists()) == ("print(1)\n", False)


async def test_what_cannot_be_read_of_a_notification_ends_nothing(editor: Editor, workspace: Path) -> None:
    uri = (workspace / "README.md").as_uri()
    editor.notify("textDocument/didOpen", {"textDocument": 1})
    editor.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "text": "x", "version": 1}})
    editor.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{}]})
    editor.notify("textDocument/didClose", {})
    editor.notify("workspace/didChangeWorkspaceFolders", {})
    session_id = await editor.session(workspace)
    said = {"sessionId": session_id, "input": [{"type": "text", "text": "x"}]}
    with pytest.raises(Refused, match="-32801"):
        await editor.request("marvin/turn/start", {**said, "context": [{"type": "buffer", "uri": uri, "version": 2}]})
