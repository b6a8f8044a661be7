"""Modes, rules and answers in a real session: what runs, what asks, and what an answer covers."""

import asyncio
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.events import Event, Permission, PermissionRequested, ToolFinished, TurnFinished
from marvin_server.messages import ToolCall
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from marvin_server.session.subscription import Subscription
from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS

Opener = Callable[..., OpenSession]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


@pytest.fixture
def opener(workspace: Path, tmp_path: Path) -> Iterator[Opener]:
    """Opens a session that will make the given calls, a round each, under a ``config.yaml`` and flags."""
    store = Store.open(tmp_path / "marvin.db")

    def make(*calls: ToolCall, config: str = "", environ: dict[str, str] | None = None, **flags: Any) -> OpenSession:
        file = tmp_path / "config.yaml"
        file.write_text(config)
        loaded = settings.load(
            flags, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **(environ or {})}, file
        )
        provider = Scripted(*([one] for one in calls), ["done"])
        return open_session(loaded, Choice(provider, free=True), store, workspace, rounds=50)

    yield make
    store.close()


def run(command: str) -> ToolCall:
    return call("run_command", json.dumps({"command": command}))


def create(path: str, content: str = "x\n") -> ToolCall:
    return call("create_file", json.dumps({"path": path, "content": content}))


class Turn:
    """A turn whose questions are answered one by one."""

    def __init__(self, opened: OpenSession) -> None:
        self.session = opened.session
        self.questions: list[Permission] = []
        self.results: list[tuple[str, str]] = []
        self.outputs: list[str] = []
        self.durations: list[int] = []
        self.ended: list[float] = []
        self._subscription: Subscription = opened.session.subscribe()
        opened.session.submit("go")

    async def question(self) -> Permission:
        """The next question."""
        async with asyncio.timeout(SECONDS):
            async for _, event in self._subscription:
                self._note(event)
                if isinstance(event, PermissionRequested):
                    return event.permission
        raise AssertionError("the session was closed")

    async def finish(self) -> "Turn":
        """Go on to the end of the turn; a further question is denied."""
        async with asyncio.timeout(SECONDS):
            async for _, event in self._subscription:
                self._note(event)
                if isinstance(event, PermissionRequested):
                    self.session.answer(event.permission.id, "deny")
                if isinstance(event, TurnFinished):
                    return self
        raise AssertionError("the session was closed")

    def _note(self, event: Event) -> None:
        if isinstance(event, PermissionRequested):
            self.questions.append(event.permission)
        if isinstance(event, ToolFinished):
            self.results.append((event.name, event.status))
            self.outputs.append(event.output)
            self.durations.append(event.duration_ms)
            self.ended.append(time.monotonic())


@pytest.mark.parametrize("asked", [create("uv.lock"), call("read_file", json.dumps({"path": ".env"}))])
async def test_how_long_a_call_took_leaves_out_how_long_the_person_was_asked(
    opener: Opener, workspace: Path, asked: ToolCall
) -> None:
    (workspace / ".env").write_text("A=1\n")
    turn = Turn(opener(asked, config='permissions:\n  ask: ["edit(*.lock)"]\n'))
    question = await turn.question()
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await other.wait()
    answered = time.monotonic()
    turn.session.answer(question.id, "allow_once")
    await turn.finish()
    assert turn.results[0][1] == "ok"
    assert turn.durations[0] <= math.ceil((turn.ended[0] - answered) * 1000)


RULES = """\
permissions:
  deny: ["run_command(touch denied)", "edit(secret/**)", "read(keys/**)"]
  ask: ["edit(*.lock)"]
  allow: ["run_command(touch *)", "edit(free/**)"]
"""


@pytest.mark.parametrize(
    ("flags", "statuses"),
    [
        ({}, ["ok", "ok", "denied", "denied", "ok", "denied", "denied"]),
        ({"approve": "all"}, ["ok", "ok", "ok", "ok", "ok", "denied", "denied"]),
        ({"approve": "rules"}, ["ok", "denied", "denied", "denied", "ok", "denied", "denied"]),
        ({"approve": "none"}, ["denied", "denied", "denied", "denied", "denied", "denied", "denied"]),
        ({"readonly": True, "approve": "all"}, ["denied"] * 7),
    ],
)
async def test_rules_modes_and_approve_decide_together(
    opener: Opener, flags: dict[str, Any], statuses: list[str]
) -> None:
    calls = [run("touch a"), create("x"), run("true"), create("uv.lock"), create("free/x")]
    opened = opener(*calls, run("touch denied"), create("secret/x"), config=RULES, **flags)
    turn = await Turn(opened).finish()
    assert [status for _, status in turn.results] == statuses


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ("mode: plan\n", []),
        ("mode: review\n", ["create_file x", "true"]),
        ("mode: auto\n", ["true"]),
        ("mode: full\n", []),
        ("mode: full\npermissions: {ask: [execute]}\n", ["true"]),
        ("mode: review\npermissions: {allow: [edit, execute]}\n", ["create_file x"]),
    ],
)
async def test_a_mode_says_what_asks(opener: Opener, config: str, asked: list[str]) -> None:
    turn = await Turn(opener(create("x"), run("true"), config=config)).finish()
    assert [question.title for question in turn.questions] == asked


async def test_the_environment_makes_a_session_read_only(opener: Opener, workspace: Path) -> None:
    opened = opener(create("x"), run("touch y"), environ={"MARVIN_READONLY": "1"})
    turn = await Turn(opened).finish()
    assert turn.outputs == ["Permission denied (read-only mode). Nothing was done."] * 2
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt"]


async def test_the_deciding_rule_is_shown(opener: Opener) -> None:
    opened = opener(run("touch denied"), run("true"), create("uv.lock"), config=RULES)
    turn = await Turn(opened).finish()
    assert [question.decided_by for question in turn.questions] == [
        "mode auto: commands must be asked for (no rule allows 'true')",
        "ask: edit(*.lock) in config.yaml:3",
    ]
    assert turn.outputs[0] == (
        "Permission denied (deny: run_command(touch denied) in config.yaml:2). Nothing was done."
    )


async def test_what_cannot_be_checked_against_a_deny_rule_is_denied_where_nobody_can_be_asked(opener: Opener) -> None:
    opened = opener(run("$(echo touch) denied"), run("touch b"), config=RULES, approve="all")
    assert (await Turn(opened).finish()).results == [("run_command", "denied"), ("run_command", "ok")]


async def test_a_rule_about_files_holds_for_what_a_path_leads_to(opener: Opener, workspace: Path) -> None:
    (workspace / "secret").mkdir()
    (workspace / "innocent").symlink_to("secret")
    (workspace / "keys").mkdir()
    (workspace / "keys" / "k").write_text("key material\n")
    (workspace / "k").symlink_to("keys/k")
    reads = [call("read_file", '{"path": "k"}'), call("code_grep", '{"pattern": "material"}')]
    turn = await Turn(opener(create("innocent/x"), *reads, config=RULES, approve="all")).finish()
    assert [status for _, status in turn.results] == ["denied", "denied", "ok"]
    assert "key material" not in str(turn.outputs)
    assert list((workspace / "secret").iterdir()) == []


async def test_a_yes_to_an_ask_rule_opens_that_file(opener: Opener, workspace: Path) -> None:
    turn = Turn(opener(create("uv.lock"), config=RULES))
    question = await turn.question()
    assert (question.kind, question.title) == ("edit", "create_file uv.lock")
    turn.session.answer(question.id, "allow_once")
    assert (await turn.finish()).results == [("create_file", "ok")]
    assert len(turn.questions) == 1
    assert (workspace / "uv.lock").exists()


async def test_a_patch_is_allowed_when_every_file_in_it_is(opener: Opener, workspace: Path) -> None:
    def patch(*paths: str) -> ToolCall:
        files = "".join(f"*** Add File: {path}\n+x\n" for path in paths)
        return call("apply_patch", json.dumps({"patch": f"*** Begin Patch\n{files}*** End Patch\n"}))

    opened = opener(patch("free/a", "free/b"), patch("free/c", "d"), patch("free/e", "secret/f"), config=RULES)
    turn = await Turn(opener(patch("free/a", "free/b"), patch("free/c", "d"), config=RULES, approve="rules")).finish()
    assert [status for _, status in turn.results] == ["ok", "denied"]
    assert [status for _, status in (await Turn(opened).finish()).results] == ["error", "ok", "denied"]
    assert sorted(path.name for path in (workspace / "free").iterdir()) == ["a", "b", "c"]


async def test_an_unreadable_rule_is_a_warning_and_denies_where_nobody_can_be_asked(opener: Opener) -> None:
    opened = opener(run("true"), create("x"), config="permissions: {deny: ['run_command(rm']}\n", approve="all")
    assert len(opened.warnings) == 1
    assert (await Turn(opened).finish()).results == [("run_command", "denied"), ("create_file", "ok")]


def patch(text: str) -> ToolCall:
    return call("apply_patch", json.dumps({"patch": f"*** Begin Patch\n{text}\n*** End Patch\n"}))


async def test_for_this_session_a_protected_file_may_be_read_but_neither_written_nor_moved(
    opener: Opener, workspace: Path
) -> None:
    (workspace / ".env").write_text("K=secret\n")
    read = call("read_file", '{"path": ".env"}')
    write = call("apply_patch", '{"path": ".env", "old_str": "K=secret", "new_str": "K=evil"}')
    move = patch("*** Update File: .env\n*** Move to: public.txt")
    turn = Turn(opener(read, read, write, move, patch("*** Delete File: .env")))
    turn.session.answer((await turn.question()).id, "allow_session")
    await turn.finish()
    assert [status for _, status in turn.results] == ["ok", "ok", "denied", "denied", "denied"]
    assert [(question.title, question.reason) for question in turn.questions] == [
        ("Read .env with read_file", "it may hold secrets"),
        ("Edit .env with apply_patch .env", "it may hold secrets"),
        ("Edit .env with apply_patch .env → public.txt", "it may hold secrets"),
        ("Edit .env with apply_patch .env (deleted)", "it may hold secrets"),
    ]
    assert (workspace / ".env").read_text() == "K=secret\n"


async def test_for_this_session_a_protected_file_may_be_written_but_not_moved(opener: Opener, workspace: Path) -> None:
    (workspace / ".env").write_text("K=1\n")
    writes = [
        call("apply_patch", json.dumps({"path": ".env", "old_str": f"K={n}", "new_str": f"K={n + 1}"})) for n in (1, 2)
    ]
    turn = Turn(opener(*writes, patch("*** Update File: .env\n*** Move to: public.txt")))
    turn.session.answer((await turn.question()).id, "allow_session")
    await turn.finish()
    assert [status for _, status in turn.results] == ["ok", "ok", "denied"]
    assert (workspace / ".env").read_text() == "K=3\n"


async def test_for_this_session_the_persons_notes_may_be_read_but_neither_changed_nor_moved_into(
    opener: Opener, tmp_path: Path
) -> None:
    notes = tmp_path / "home" / "Notes"
    notes.mkdir(parents=True)
    (notes / "i.md").write_text("mine\n")
    read = call("file_read_lines", '{"file": "i.md"}')
    write = call("file_apply_patch", '{"file": "i.md", "old_str": "mine", "new_str": "theirs"}')
    enter = call("set_working_dir", json.dumps({"path": str(notes)}))
    environ = {"HOME": str(tmp_path / "home")}
    turn = Turn(opener(read, read, write, enter, environ=environ, config="tools: all\n"))
    turn.session.answer((await turn.question()).id, "allow_session")
    await turn.finish()
    assert [status for _, status in turn.results] == ["ok", "ok", "denied", "denied"]
    assert [question.title for question in turn.questions] == [
        f"Read {notes} with file_read_lines",
        f"Edit {notes} with file_apply_patch i.md",
        f"Read {notes} with set_working_dir",
    ]
    assert (notes / "i.md").read_text() == "mine\n"


async def test_a_question_about_an_edit_shows_its_diff(opener: Opener, workspace: Path) -> None:
    (workspace / "b.txt").write_text("beta\n")
    edits = [
        call("apply_patch", '{"path": "a.txt", "old_str": "alpha", "new_str": "omega"}'),
        patch("*** Update File: b.txt\n*** Move to: c.txt"),
        create("new.txt", "one\n"),
        call("append_file", '{"path": "b.txt", "content": "more\\n"}'),
        call("write_note", '{"name": "n", "content": "noted\\n"}'),
        call("apply_patch", '{"path": "a.txt", "old_str": "nowhere", "new_str": "x"}'),
        create("a.txt"),
    ]
    turn = await Turn(opener(*edits, config="mode: review\n")).finish()
    assert [question.diff for question in turn.questions] == [
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-alpha\n+omega\n",
        "diff --git a/b.txt b/c.txt\nrename from b.txt\nrename to c.txt\n",
        "--- a/new.txt\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+one\n",
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,2 @@\n beta\n+more\n",
        "--- a/.marvin/notes/n.md\n+++ b/.marvin/notes/n.md\n@@ -0,0 +1,1 @@\n+noted\n",
    ]
    assert [status for _, status in turn.results] == ["denied"] * 5 + ["error"] * 2
    assert turn.outputs[-1] == "Error: File already exists: 'a.txt'. Use apply_patch to modify existing files."
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "b.txt"]


async def test_a_question_about_a_protected_file_shows_the_diff_of_what_may_be_read(
    opener: Opener, workspace: Path
) -> None:
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "x").write_text("be kind\n")
    (workspace / ".env").write_text("K=secret\n")
    edits = [
        call("apply_patch", '{"path": ".claude/x", "old_str": "kind", "new_str": "evil"}'),
        call("apply_patch", '{"path": ".env", "old_str": "secret", "new_str": "evil"}'),
    ]
    turn = await Turn(opener(*edits)).finish()
    assert [question.diff for question in turn.questions] == [
        "--- a/.claude/x\n+++ b/.claude/x\n@@ -1,1 +1,1 @@\n-be kind\n+be evil\n",
        None,
    ]


@pytest.mark.parametrize(("config", "path"), [("mode: review\n", "a.txt"), ("", ".claude/x")])
async def test_an_edit_whose_file_changes_while_the_question_is_open_is_asked_about_again(
    opener: Opener, workspace: Path, config: str, path: str
) -> None:
    (workspace / ".claude").mkdir()
    (workspace / path).write_text("alpha\n")
    edit = call("apply_patch", json.dumps({"path": path, "old_str": "alpha", "new_str": "omega"}))
    turn = Turn(opener(edit, config=config))
    question = await turn.question()
    (workspace / path).write_text("alpha\nbeta\n")
    turn.session.answer(question.id, "allow_once")
    again = await turn.question()
    assert again.diff == f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-alpha\n+omega\n beta\n"
    assert (workspace / path).read_text() == "alpha\nbeta\n"
    turn.session.answer(again.id, "allow_once")
    assert (await turn.finish()).results == [("apply_patch", "ok")]
    assert (workspace / path).read_text() == "omega\nbeta\n"


async def test_for_this_session_covers_edits_of_a_file_but_not_its_end(opener: Opener, workspace: Path) -> None:
    edits = [
        call("apply_patch", json.dumps({"path": "a.txt", "old_str": a, "new_str": b}))
        for a, b in (("alpha", "beta"), ("beta", "gamma"))
    ]
    ends = [patch("*** Delete File: a.txt"), patch("*** Update File: a.txt\n*** Move to: b.txt")]
    turn = Turn(opener(*edits, *ends, config="mode: review\n"))
    turn.session.answer((await turn.question()).id, "allow_session")
    await turn.finish()
    assert [status for _, status in turn.results] == ["ok", "ok", "denied", "denied"]
    assert [question.title for question in turn.questions] == [
        "apply_patch a.txt",
        "apply_patch a.txt (deleted)",
        "apply_patch a.txt → b.txt",
    ]


async def test_for_this_session_covers_the_shown_command_in_the_shown_directory(
    opener: Opener, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    moved = call("set_working_dir", '{"path": "sub"}')
    turn = Turn(opener(run("touch x"), run("touch x"), moved, run("touch x"), run("touch  x")))
    turn.session.answer((await turn.question()).id, "allow_session")
    second = await turn.question()
    assert second.command
    assert second.command.cwd == str(workspace / "sub")
    turn.session.answer(second.id, "allow_once")
    assert [name for name, _ in (await turn.finish()).results].count("run_command") == 4
    assert [q.title for q in turn.questions] == ["touch x", "touch x", "touch  x"]


async def test_a_directory_that_was_swapped_while_the_question_was_open_is_asked_about_again(
    opener: Opener, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    turn = Turn(opener(call("set_working_dir", '{"path": "sub"}'), run("touch x")))
    question = await turn.question()
    (workspace / "sub").rename(workspace / "old")
    (workspace / "sub").mkdir()
    turn.session.answer(question.id, "allow_once")
    again = await turn.question()
    assert not (workspace / "sub" / "x").exists()
    turn.session.answer(again.id, "allow_once")
    await turn.finish()
    assert (workspace / "sub" / "x").exists()


async def test_a_script_of_this_session_is_shown_and_a_changed_one_is_asked_about_again(opener: Opener) -> None:
    change = call("append_file", '{"path": "run.sh", "content": "echo two\\n"}')
    again = [run("bash run.sh"), change, run("bash run.sh")]
    turn = Turn(opener(create("run.sh", "echo one\n"), run("bash run.sh"), *again))
    question = await turn.question()
    assert question.command
    assert [(script.path, script.text) for script in question.command.scripts] == [("run.sh", "echo one\n")]
    turn.session.answer(question.id, "allow_session")
    second = await turn.question()
    assert second.command
    assert [script.text for script in second.command.scripts] == ["echo one\necho two\n"]
    turn.session.answer(second.id, "deny")
    await turn.finish()
    ran = ("run_command", "ok")
    assert turn.results == [("create_file", "ok"), ran, ran, ("append_file", "ok"), ("run_command", "denied")]


async def test_a_script_that_changes_while_the_question_is_open_is_asked_about_again(
    opener: Opener, workspace: Path
) -> None:
    turn = Turn(opener(create("run.sh", "touch one\n"), run("bash run.sh")))
    question = await turn.question()
    (workspace / "run.sh").write_text("touch two\n")
    turn.session.answer(question.id, "allow_once")
    again = await turn.question()
    assert again.command
    assert [script.text for script in again.command.scripts] == ["touch two\n"]
    turn.session.answer(again.id, "deny")
    await turn.finish()
    assert not (workspace / "one").exists()
    assert not (workspace / "two").exists()


async def test_a_person_may_change_the_command(opener: Opener, workspace: Path) -> None:
    turn = Turn(opener(run("touch theirs")))
    turn.session.answer((await turn.question()).id, "allow_edited", command="touch mine")
    await turn.finish()
    assert turn.results == [("run_command", "ok")]
    assert turn.outputs[0].startswith("The person changed the call to: touch mine\n")
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "mine"]


@pytest.mark.parametrize("command", ["touch denied", None, ""])
async def test_a_changed_command_is_checked_against_deny_rules(
    opener: Opener, workspace: Path, command: str | None
) -> None:
    turn = Turn(opener(run("echo"), config=RULES))
    turn.session.answer((await turn.question()).id, "allow_edited", command=command)
    assert (await turn.finish()).results == [("run_command", "denied")]
    assert [path.name for path in workspace.iterdir()] == ["a.txt"]


async def test_a_call_that_says_the_same_three_times_in_a_row_is_stopped(opener: Opener) -> None:
    read = [call("read_file", '{"path": "a.txt"}') for _ in range(5)]
    other = call("read_file", '{"path": "missing"}')
    turn = await Turn(opener(*read, other, read[0])).finish()
    assert [status for _, status in turn.results] == ["ok", "ok", "ok", "error", "error", "error", "ok"]
    assert turn.outputs[3].startswith("Not run: this very call has given the same result 3 times in a row.")


async def test_a_call_whose_result_changes_may_be_repeated(opener: Opener) -> None:
    append = [run("echo x >> log; cat log") for _ in range(5)]
    turn = await Turn(opener(*append, approve="all")).finish()
    assert [status for _, status in turn.results] == ["ok"] * 5
