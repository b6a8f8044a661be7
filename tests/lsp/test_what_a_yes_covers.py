"""A yes to a command covers what is on disk when it runs: Marvin's own unsaved changes are saved before it is shown."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.buffers import Buffers
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor, Refused
from tests.lsp.person import answers, call, editor, person
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

__all__ = ["editor", "person"]


async def answered(editor: Editor, session_id: str, decision: str, *, nth: int = 1) -> Any:
    """The ``nth`` question, answered."""
    asked = (await editor.event("permission.requested", session_id, nth=nth))["permission"]
    assert await editor.decide(session_id, decision, nth=nth)
    return asked


def scripts(asked: Any) -> list[str]:
    return [script["text"] for script in asked["command"]["scripts"]]


EVIL = call("apply_patch", path="run.sh", old_str="harmless", new_str="EVIL")
RUN = call("run_command", command="bash run.sh")


async def test_a_script_that_marvin_changed_in_a_buffer_is_shown_as_it_will_run(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "run.sh").write_text("echo harmless\n")
    person.open(workspace / "run.sh")
    model_server.play([EVIL, RUN, says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = await answered(editor, session_id, "allowOnce")
    await editor.event("turn.finished", session_id)
    assert scripts(asked) == ["echo EVIL\n"]
    assert answers(model_server)[-1].startswith("EVIL\n")


async def test_a_yes_for_the_session_does_not_cover_what_marvin_has_since_changed_in_a_buffer(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "run.sh").write_text("echo harmless\n")
    person.open(workspace / "run.sh")
    model_server.play([RUN, EVIL, RUN, says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    await answered(editor, session_id, "allowSession")
    asked = await answered(editor, session_id, "deny", nth=2)
    await editor.event("turn.finished", session_id)
    assert scripts(asked) == ["echo EVIL\n"]
    assert "denied" in answers(model_server)[-1]


async def test_what_is_saved_while_the_question_is_open_is_asked_about_again(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    """Taking back an edit in a buffer makes a change of Marvin's there."""
    (workspace / "run.sh").write_text("echo harmless\n")
    uri = person.open(workspace / "run.sh")
    model_server.play([EVIL, RUN, says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    patch = (await editor.event("patch.applied", session_id))["patch"]
    rejected = {"patchId": patch["id"], "accept": [], "reject": [{"hunkId": patch["edits"][0]["hunks"][0]["id"]}]}
    await editor.request("marvin/patch/resolve", rejected)
    assert person.text(uri) == "echo harmless\n"
    await answered(editor, session_id, "allowOnce")
    again = await answered(editor, session_id, "allowOnce", nth=2)
    await editor.event("turn.finished", session_id)
    assert (scripts(asked), scripts(again)) == (["echo EVIL\n"], ["echo harmless\n"])
    assert answers(model_server)[-1].startswith("harmless\n")


@pytest.mark.parametrize("who", ["the person's", "Marvin's"])
async def test_a_script_that_is_not_saved_is_shown_as_it_is_on_disk_and_said_to_be(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer, who: str
) -> None:
    script = workspace / "run.sh"
    session_id = await editor.session(workspace)
    script.write_text("echo harmless\n")
    person.saves = False
    uri = person.open(script)
    if who == "the person's":
        person.put(uri, "harmless", "EVIL")
    model_server.play([*([EVIL] if who == "Marvin's" else []), RUN, says("Done.")])
    await editor.turn(session_id)
    asked = await answered(editor, session_id, "allowOnce")
    await editor.event("turn.finished", session_id)
    note = "[open in the editor with changes that are not saved; this is on disk, and runs]\n"
    assert scripts(asked) == [f"{note}echo harmless\n"]
    assert answers(model_server)[-1].startswith("harmless\n")
    told = [event["text"] for event in editor.events(session_id) if event["type"] == "notice"]
    assert len(told) == (1 if who == "Marvin's" else 0)


async def test_a_commit_is_shown_with_what_marvin_wrote_in_a_buffer(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", workspace, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    main = workspace / "main.py"
    main.write_text("x=1\n")
    git("init", "-q")
    git("config", "user.name", "A")
    git("config", "user.email", "a@example.org")
    git("add", ".")
    git("commit", "-qm", "First")
    main.write_text("x=2\n")
    person.open(main)
    edit = call("apply_patch", path="main.py", old_str="x=2", new_str="x=3")
    model_server.play([edit, call("git_commit", message="Second", paths=["main.py"]), says("Done.")])
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = await answered(editor, session_id, "allowOnce")
    await editor.event("turn.finished", session_id)
    assert asked["diff"].endswith("-x=1\n+x=3\n")
    assert git("show", "--format=", "HEAD").endswith("-x=1\n+x=3\n")
    assert len([one for one in editor.events(session_id) if one["type"] == "permission.requested"]) == 1


async def test_nothing_is_saved_for_a_command_that_may_not_run(
    editor: Editor, person: Buffers, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "run.sh").write_text("echo harmless\n")
    person.open(workspace / "run.sh")
    session_id = await editor.session(workspace)
    model_server.play([EVIL, says("Changed.")])
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id)
    await editor.request("marvin/config/set", {"sessionId": session_id, "name": "mode", "value": "plan"})
    model_server.play([RUN, says("Denied.")])
    await editor.turn(session_id)
    await editor.event("turn.finished", session_id, nth=2)
    assert (person.saved, (workspace / "run.sh").read_text()) == ([], "echo harmless\n")


async def test_an_answer_that_the_question_does_not_take_is_refused_by_every_process(
    editor: Editor, start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    other = await start()
    (workspace / "AGENTS.md").write_text("Be nice.\n")
    session_id = await editor.session(workspace)
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    params = {"permissionId": asked["id"], "decision": "allowEdited", "command": "id"}
    taken = "this question takes allowOnce, allowSession, deny, denyAndStop, not allowEdited"
    for each in (editor, other):
        with pytest.raises(Refused, match=f"-32602: decision: {taken}"):
            await each.request("marvin/permission/answer", params)
    assert await answered(editor, session_id, "allowOnce") == asked
    resolved = await editor.event("permission.resolved", session_id)
    assert (resolved["decision"], resolved["by"]) == ("allowOnce", "person")
