"""Turns of real sessions, undone and redone: real files, real git, real commands."""

import asyncio
import json
import os
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.edits.merge import Conflict
from marvin_server.errors import MarvinError, UsageError
from marvin_server.events import Event, Notice, PermissionRequested, TurnFinished
from marvin_server.messages import ToolCall
from marvin_server.providers.selection import Choice
from marvin_server.session.file_copy import Failed
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.steps import Step
from marvin_server.session.store import Store
from marvin_server.session.undo import TakenBack
from tests.agent.scripted import Scripted, call
from tests.git import git
from tests.patience import SECONDS

Play = Callable[..., Awaitable["Played"]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    return folder


class Played:
    """A session after the turns of a script; ``events`` has all that was shown."""

    def __init__(self, opened: OpenSession, events: list[Event]) -> None:
        self.opened = opened
        self.events = events
        self.session = opened.session

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    async def undo(self, turn_id: str | None = None, *, preview: bool = False) -> TakenBack:
        return await self.session.undo(turn_id, preview=preview)

    async def redo(self, turn_id: str | None = None, *, preview: bool = False) -> TakenBack:
        return await self.session.redo(turn_id, preview=preview)


@pytest.fixture
def play(workspace: Path, store: Store, tmp_path: Path) -> Play:
    """Plays one turn for each list of calls, and says "Done." after each."""

    async def played(*turns: list[ToolCall], path: str = os.environ["PATH"], **flags: Any) -> Played:
        rounds = [step for turn in turns for step in (turn, ["Done."])]
        environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": path, "HOME": str(tmp_path)}
        loaded = settings.load({"approve": "all", "sandbox": "off", **flags}, environ)
        opened = open_session(loaded, Choice(Scripted(*rounds), free=True), store, workspace, rounds=50)
        events: list[Event] = []
        for number, _ in enumerate(turns):
            subscription = opened.session.subscribe()
            opened.session.submit(f"Turn {number}")
            async with asyncio.timeout(SECONDS):
                async for _, event in subscription:
                    events.append(event)
                    if isinstance(event, TurnFinished):
                        break
        return Played(opened, events)

    return played


def run(command: str) -> ToolCall:
    return call("run_command", json.dumps({"command": command}))


def patch(path: str, old: str, new: str) -> ToolCall:
    return call("apply_patch", json.dumps({"path": path, "old_str": old, "new_str": new}))


def create(path: str, content: str) -> ToolCall:
    return call("create_file", json.dumps({"path": path, "content": content}))


def files(folder: Path) -> dict[str, object]:
    """Everything beneath ``folder``: content and permissions of files, where links point, and which folders are."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


async def test_a_turn_of_edits_is_undone_and_redone_as_one(play: Play, workspace: Path) -> None:
    before = files(workspace)
    played = await play([patch("a.txt", "two\n", "2\n"), create("new/b.txt", "b\n"), patch("a.txt", "six\n", "6\n")])
    after = files(workspace)
    undone = await played.undo()
    assert files(workspace) == before
    assert (undone.kind, set(undone.applied), undone.failed) == ("undo", {"a.txt", "new/b.txt"}, ())
    redone = await played.redo()
    assert files(workspace) == after
    assert (redone.kind, set(redone.applied), redone.failed) == ("redo", {"a.txt", "new/b.txt"}, ())
    await played.undo()
    assert files(workspace) == before


async def test_what_commands_did_is_undone_and_redone(play: Play, workspace: Path) -> None:
    (workspace / "gone.bin").write_bytes(bytes(range(256)))
    (workspace / "gone.bin").chmod(0o600)
    (workspace / "tool.sh").write_text("#!/bin/sh\n")
    before = files(workspace)
    script = (
        "rm gone.bin; chmod 755 tool.sh; mkdir -p deep/er; echo new > deep/er/x; ln -s ../a.txt deep/link; "
        "sed -i s/two/2/ a.txt; printf '\\r\\n\\0\\377' > 'odd\nname'"
    )
    played = await play([run(script)])
    after = files(workspace)
    assert "odd\nname" in after
    await played.undo()
    assert files(workspace) == before
    await played.redo()
    assert files(workspace) == after


async def test_later_changes_of_the_person_stay(play: Play, workspace: Path) -> None:
    played = await play([patch("a.txt", "two\n", "2\n"), run("sed -i s/six/6/ a.txt")])
    file = workspace / "a.txt"
    file.write_text("zero\n" + file.read_text().replace("four", "4"))
    (workspace / "mine.txt").write_text("mine\n")
    undone = await played.undo()
    assert file.read_text() == "zero\none\ntwo\nthree\n4\nfive\nsix\nseven\n"
    assert (undone.applied, undone.failed) == (("a.txt",), ())
    assert (workspace / "mine.txt").exists()
    await played.redo()
    assert file.read_text() == "zero\none\n2\nthree\n4\nfive\n6\nseven\n"


async def test_changes_of_the_same_lines_conflict_and_the_file_is_left_alone(play: Play, workspace: Path) -> None:
    played = await play([patch("a.txt", "two\n", "2\n"), create("b.txt", "b\n")])
    mine = (workspace / "a.txt").read_text().replace("2\n", "zwei\n")
    (workspace / "a.txt").write_text(mine)
    undone = await played.undo()
    assert undone.failed == (
        Failed("a.txt", "the same lines were changed since (line 2)", (Conflict(2, ("zwei\n",), ("two\n",)),)),
    )
    assert undone.applied == ("b.txt",)
    assert files(workspace).keys() == {"a.txt"}
    assert (workspace / "a.txt").read_text() == mine


async def test_a_file_that_was_made_and_changed_since_stays(play: Play, workspace: Path) -> None:
    played = await play([create("b.txt", "b\n"), run("rm a.txt")])
    (workspace / "b.txt").write_text("mine\n")
    (workspace / "a.txt").write_text("also mine\n")
    undone = await played.undo()
    assert [(failed.path, failed.reason) for failed in undone.failed] == [
        ("a.txt", "there is another file in its place now"),
        ("b.txt", "it was changed since it was made"),
    ]
    assert [(workspace / name).read_text() for name in ("a.txt", "b.txt")] == ["also mine\n", "mine\n"]
    with pytest.raises(MarvinError, match="nothing to redo"):
        await played.redo()


async def test_a_preview_shows_the_diff_and_changes_nothing(play: Play, workspace: Path) -> None:
    played = await play([patch("a.txt", "two\n", "2\n"), run("echo new > n.txt; printf 'a\\0b' > bin")])
    before = files(workspace)
    shown = await played.undo(preview=True)
    assert files(workspace) == before
    assert shown.is_preview
    assert shown.preview == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,5 @@\n one\n-2\n+two\n three\n four\n five\n"
        "Binary file bin is removed\n"
        "diff --git a/n.txt b/n.txt\ndeleted file mode 100644\n--- a/n.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-new\n"
    )
    assert set((await played.undo()).applied) == set(shown.applied) == {"a.txt", "n.txt", "bin"}


async def test_turns_are_undone_from_the_newest_on_and_redone_in_reverse(play: Play, workspace: Path) -> None:
    played = await play([patch("a.txt", "one", "1")], [patch("a.txt", "1", "eins")], [patch("a.txt", "eins", "uno")])

    def first() -> str:
        return (workspace / "a.txt").read_text().partition("\n")[0]

    seen = [first()]
    for step in (played.undo, played.undo, played.undo, played.redo, played.redo, played.undo, played.redo):
        await step()
        seen.append(first())
    assert seen == ["uno", "eins", "1", "one", "1", "eins", "1", "eins"]
    await played.redo()
    with pytest.raises(MarvinError, match="nothing to redo"):
        await played.redo()


async def test_an_earlier_turn_is_undone_alone_where_later_ones_leave_its_lines(play: Play, workspace: Path) -> None:
    played = await play([patch("a.txt", "one", "1")], [patch("a.txt", "seven", "7")])
    turns = [event.turn_id for event in played.events if isinstance(event, TurnFinished)]
    await played.undo(turns[0])
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\nfour\nfive\nsix\n7\n"


async def test_an_ignored_file_that_marvin_edited_is_undone(play: Play, workspace: Path) -> None:
    git(workspace, "init", "-q")
    (workspace / ".gitignore").write_text("*.local\n")
    (workspace / "x.local").write_text("secretly ignored\n")
    played = await play([patch("x.local", "secretly", "openly"), run("touch y.local n.txt")])
    undone = await played.undo()
    assert not (workspace / "n.txt").exists()
    assert (workspace / "x.local").read_text() == "secretly ignored\n"
    assert undone.notes == ("not kept, since git ignores it: x.local, y.local",)


async def test_the_persons_repository_is_not_touched(play: Play, workspace: Path) -> None:
    git(workspace, "init", "-q")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "x")
    (workspace / "staged.txt").write_text("staged\n")
    git(workspace, "add", "staged.txt")

    def own() -> dict[str, bytes]:
        places = sorted((workspace / ".git").rglob("*"))
        return {str(path): path.read_bytes() for path in places if path.is_file()}

    before = own()
    played = await play([run("echo more >> a.txt; echo new > new.txt"), patch("a.txt", "two", "2")])
    await played.undo()
    await played.redo()
    assert own() == before


async def test_the_model_is_told_with_the_next_prompt(play: Play, store: Store) -> None:
    played = await play([patch("a.txt", "two", "2")])
    await played.undo(preview=True)
    await played.undo()
    texts = [message.text for message in store.history(played.session.id)]
    assert texts[-1] == (
        "[Marvin: the person took back your changes of an earlier turn, in a.txt. Read these files again before use.]"
    )
    assert texts[-2] == "Done."


async def test_a_command_that_is_cancelled_can_be_undone(workspace: Path, store: Store, tmp_path: Path) -> None:
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    loaded = settings.load({"approve": "all", "sandbox": "off"}, environ)
    provider = Scripted([run("echo changed > a.txt; echo ready; exec cat /dev/zero > /dev/null")])
    session = open_session(loaded, Choice(provider, free=True), store, workspace, rounds=5).session
    subscription = session.subscribe()
    session.submit("Go")
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            if event.type == "tool.output":
                with pytest.raises(UsageError, match="a turn is running"):
                    await session.undo()
                session.cancel()
            if isinstance(event, TurnFinished):
                break
    assert (workspace / "a.txt").read_text() == "changed\n"
    await session.undo()
    assert (workspace / "a.txt").read_text().startswith("one\n")


async def test_a_step_that_was_never_ended_counts_until_now(play: Play, workspace: Path, store: Store) -> None:
    played = await play([run("echo changed > a.txt")])
    step, *_ = store.steps.all()
    store.steps.forget(str(workspace), days=1, most=0)
    store.steps.begin(Step(step.session_id, step.turn_id, step.kind, step.root, step.before))
    (workspace / "late.txt").write_text("late\n")
    undone = await played.undo()
    assert set(undone.applied) == {"a.txt", "late.txt"}
    assert undone.notes[0].startswith("Marvin was stopped while a command ran")
    assert files(workspace).keys() == {"a.txt"}


async def test_without_git_edits_can_be_undone_and_it_is_said_once_that_commands_cannot(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("touch",):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    played = await play([run("touch x.txt"), run("touch y.txt"), patch("a.txt", "two\n", "2\n")], path=str(programs))
    assert played.notices == ["what commands change cannot be undone: git is not installed"]
    undone = await played.undo()
    assert (undone.applied, (workspace / "a.txt").read_text().splitlines()[1]) == (("a.txt",), "two")
    assert (workspace / "x.txt").exists()


async def test_a_file_that_became_a_folder_comes_back_and_the_reverse(play: Play, workspace: Path) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "x").write_text("x\n")
    before = files(workspace)
    script = "rm a.txt && mkdir a.txt && echo in > a.txt/in && rm -r d && echo flat > d"
    played = await play([run(script)])
    after = files(workspace)
    await played.undo()
    assert files(workspace) == before
    await played.redo()
    assert files(workspace) == after
    (workspace / "a.txt" / "mine").write_text("mine\n")
    undone = await played.undo()
    assert [(failed.path, failed.reason) for failed in undone.failed] == [("a.txt", "a folder is in its place")]
    assert (workspace / "a.txt" / "mine").read_text() == "mine\n"


async def test_a_folder_that_became_a_link_comes_back(play: Play, workspace: Path) -> None:
    for name in ("d", "e"):
        (workspace / name).mkdir()
        (workspace / name / "x").write_text(f"{name}\n")
    before = files(workspace)
    played = await play([run("rm -r d && ln -s e d")])
    await played.undo()
    assert files(workspace) == before


async def test_a_path_that_was_swapped_for_a_link_is_never_followed(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("2\n")
    (outside / "a.txt").write_text((workspace / "a.txt").read_text().replace("two", "2"))
    (workspace / "d").mkdir()
    (workspace / "d" / "x").write_text("1\n")
    played = await play([run("echo 2 > d/x; sed -i s/two/2/ a.txt")])
    (workspace / "d" / "x").unlink()
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    (workspace / "a.txt").unlink()
    (workspace / "a.txt").symlink_to(outside / "a.txt")
    undone = await played.undo()
    assert undone.applied == ()
    assert [(failed.path, failed.reason) for failed in undone.failed] == [
        ("a.txt", "it was changed since, and is or was a symbolic link"),
        ("d/x", "its folder is a symbolic link now"),
    ]
    assert files(outside) == {
        "a.txt": (b"one\n2\nthree\nfour\nfive\nsix\nseven\n", 0o644),
        "x": (b"2\n", 0o644),
    }


async def test_what_the_person_edits_while_a_question_is_open_is_theirs(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    provider = Scripted([run("sed -i s/six/6/ a.txt")], ["Done."])
    choice = Choice(provider, free=True)
    session = open_session(settings.load({"sandbox": "off"}, environ), choice, store, workspace, rounds=5).session
    subscription = session.subscribe()
    session.submit("Go")
    file = workspace / "a.txt"
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            if isinstance(event, PermissionRequested):
                file.write_text(file.read_text().replace("two", "zwei"))
                session.answer(event.permission.id, "allow_once")
            if isinstance(event, TurnFinished):
                break
    assert file.read_text() == "one\nzwei\nthree\nfour\nfive\n6\nseven\n"
    await session.undo()
    assert file.read_text() == "one\nzwei\nthree\nfour\nfive\nsix\nseven\n"


async def test_a_protected_file_that_the_person_let_marvin_edit_is_undone(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / ".env").chmod(0o600)
    provider = Scripted([patch(".env", "KEY=1", "KEY=2")], ["Done."])
    choice = Choice(provider, free=True)
    session = open_session(settings.load({}, environ), choice, store, workspace, rounds=5).session
    subscription = session.subscribe()
    session.submit("Go")
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            if isinstance(event, PermissionRequested):
                session.answer(event.permission.id, "allow_once")
            if isinstance(event, TurnFinished):
                break
    assert (workspace / ".env").read_text() == "KEY=2\n"
    await session.undo()
    assert files(workspace)[".env"] == (b"KEY=1\n", 0o600)


async def test_binary_files_and_permissions_are_merged_where_that_is_clear(play: Play, workspace: Path) -> None:
    (workspace / "bin").write_bytes(b"\0one")
    (workspace / "s.sh").write_text("a\nb\nc\n")
    played = await play([run("printf '\\0two' > bin; chmod +x s.sh; printf '\\0' > other")])
    (workspace / "bin").write_bytes(b"\0three")
    (workspace / "s.sh").write_text("a\nb\nc\nmine\n")
    undone = await played.undo()
    assert undone.applied == ("other", "s.sh")
    assert [(failed.path, failed.reason) for failed in undone.failed] == [("bin", "it is binary and was changed since")]
    assert files(workspace)["s.sh"] == (b"a\nb\nc\nmine\n", 0o644)


async def test_a_new_session_may_undo_what_an_earlier_process_did(
    play: Play, workspace: Path, store: Store, tmp_path: Path
) -> None:
    played = await play([patch("a.txt", "two", "2")])
    await played.session.close()
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    again = open_session(
        settings.load({}, environ), Choice(Scripted(), free=True), store, workspace, rounds=5, resume=played.session.id
    )
    assert (await again.session.undo()).applied == ("a.txt",)
    await again.session.close()
    with pytest.raises(UsageError, match="closed"):
        await again.session.undo()


async def test_where_nothing_can_be_kept_the_work_goes_on_and_it_is_said_once(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "state").write_text("in the way\n")
    played = await play([patch("a.txt", "two", "2"), run("touch x.txt"), run("touch y.txt"), patch("a.txt", "2", "3")])
    assert files(workspace).keys() == {"a.txt", "x.txt", "y.txt"}
    assert [notice.partition(":")[0] for notice in played.notices] == [
        "a change cannot be undone",
        "what commands change cannot be undone",
    ]
    with pytest.raises(MarvinError, match="nothing to undo"):
        await played.undo()


async def test_where_the_store_takes_no_step_commands_run_all_the_same_and_it_is_said_once(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    full = "CREATE TRIGGER full BEFORE INSERT ON checkpoints BEGIN SELECT raise(ABORT, 'no room for steps'); END"
    with closing(sqlite3.connect(tmp_path / "marvin.db", isolation_level=None)) as other:
        other.execute(full)
    played = await play([run("touch one"), run("touch two")])
    assert [(workspace / name).exists() for name in ("one", "two")] == [True, True]
    assert played.notices == [
        f"what commands change cannot be undone: {tmp_path}/marvin.db: no room for steps",
    ]


async def test_a_first_edit_tidies_nothing_and_one_a_day_later_does(
    play: Play, workspace: Path, tmp_path: Path
) -> None:
    await play([patch("a.txt", "two\n", "2\n")])
    (kept,) = tmp_path.glob("home/**/objects/..")
    assert not (kept / "tidied").exists()
    yesterday = kept.stat().st_mtime - 86_401
    os.utime(kept, (yesterday, yesterday))
    await play([patch("a.txt", "six\n", "6\n")])
    assert (kept / "tidied").exists()
