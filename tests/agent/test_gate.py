"""What a question shows before a call runs, what its yes covers, and that nothing waits while a call is judged."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from marvin_server.agent.gate import Gate
from marvin_server.agent.judge import Judge
from marvin_server.agent.permissions import Permissions, Policy
from marvin_server.agent.rules import Rules
from marvin_server.config_file import PermissionEntry
from marvin_server.errors import NotOffered
from marvin_server.events import Command, Event, Permission, PermissionRequested, Script
from marvin_server.messages import ToolCall
from marvin_server.settings import Mode
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from tests.tools.conftest import context, folder, registry, shown

__all__ = ["context", "folder", "registry", "shown"]

_OWN_TOOL = """
import threading
from pydantic import BaseModel
from marvin_server.tools.base import tool

class Params(BaseModel):
    stage: str

def _title(params):
    return "deploy apart" if threading.current_thread() is not threading.main_thread() else "deploy here"

@tool(effect="execute", title=_title)
async def deploy(params: Params, context) -> str:
    \"\"\"Deploy the site.\"\"\"
    return f"deployed to {params.stage}"
"""


class Person:
    """Answers the questions of a gate, one answer each: a decision, or what to do before saying yes."""

    def __init__(self, registry: Registry, context: ToolContext, *, mode: Mode = "auto", deny: str | None = None):
        self.permissions = Permissions()
        self.questions: list[Permission] = []
        rules = Rules([PermissionEntry("deny", deny, "x:1")], registry.entries) if deny else None
        judge = Judge(lambda: Policy(mode=mode), rules, time.time() - 60)
        self._gate = Gate(registry, self._execute, judge, self.permissions)
        self._registry, self._context = registry, context

    async def _execute(self, prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        return await self._registry.execute(prepared, context)

    async def sees(self, name: str, /, *answers: str | Callable[[], None], **arguments: object) -> ToolOutput:
        """The output of a call whose questions are answered in turn; the last answer stands for all further ones."""
        prepared = self._registry.prepare(ToolCall("1", name, json.dumps(arguments)))
        assert isinstance(prepared, PreparedCall), prepared
        left = list(answers)

        def emit(event: Event) -> None:
            if not isinstance(event, PermissionRequested):
                return
            self.questions.append(event.permission)
            answer = left.pop(0) if len(left) > 1 else left[0]
            if callable(answer):
                answer()
            decision = answer if isinstance(answer, str) else "allow_once"
            self.permissions.answer(event.permission.id, decision)  # pyright: ignore[reportArgumentType]

        return await self._gate.run(prepared, self._context, emit)


@pytest.fixture
def person(registry: Registry, context: ToolContext) -> Person:
    return Person(registry, context)


@pytest.fixture
def git(folder: Path) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init", "-b", "main")
    run("config", "user.name", "A")
    run("config", "user.email", "a@example.org")
    (folder / "a.txt").write_text("one\n")
    run("add", ".")
    run("commit", "-m", "First")
    return run


@pytest.mark.parametrize("deny", [None, "run_command(rm -rf *)"])
async def test_the_loop_goes_on_while_a_long_command_is_judged(
    registry: Registry, context: ToolContext, deny: str | None
) -> None:
    person = Person(registry, context, deny=deny)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    try:
        await asyncio.sleep(0)
        before = ticks
        seen: list[int] = []
        done = await person.sees("run_command", lambda: seen.append(ticks), command="true; " * 1600 + "true")
    finally:
        ticking.cancel()
    assert done.status == "ok"
    assert seen[0] > before


async def test_scripts_beyond_what_is_read_of_them_are_named_and_a_yes_holds_once(folder: Path, person: Person) -> None:
    for number in range(4):
        (folder / f"{number}.sh").write_text("#" * 400_000 + "\n")
    command = "; ".join(f"bash {number}.sh" for number in range(4))
    for _ in range(2):
        assert (await person.sees("run_command", "allow_once", command=command)).status == "ok"
    assert [(each.is_whole, "allow_session" in each.options) for each in person.questions] == [(False, False)] * 2
    shown_command = person.questions[0].command
    assert shown_command
    assert [bool(script.digest) for script in shown_command.scripts] == [True, True, False, False]
    assert [script.text[:16] for script in shown_command.scripts[2:]] == ["[too long to sho"] * 2


async def test_a_yes_for_the_session_is_no_answer_where_not_all_was_shown(folder: Path, person: Person) -> None:
    (folder / "x.sh").write_text("#" * 1_000_001 + "\n")
    with pytest.raises(NotOffered, match="this question takes allow_once, allow_edited, deny, deny_and_stop, not"):
        await person.sees("run_command", "allow_session", command="bash x.sh")


async def test_a_commit_that_is_too_long_to_show_is_asked_about_each_time(
    folder: Path, person: Person, git: Callable[..., str]
) -> None:
    (folder / "a.txt").write_text("line\n" * 40_000)
    denied = await person.sees("git_commit", "deny", message="Words", all=True)
    assert denied.status == "denied"
    assert [(each.is_whole, "allow_session" in each.options) for each in person.questions] == [(False, False)]


async def test_a_long_new_file_is_cut_in_the_question_which_says_so(registry: Registry, context: ToolContext) -> None:
    person = Person(registry, context, mode="review")
    await person.sees("create_file", "deny", path="a.txt", content="line\n" * 40_000)
    await person.sees("create_file", "deny", path="a.txt", content="line\n")
    assert [(each.is_whole, "allow_session" in each.options) for each in person.questions] == [
        (False, False),
        (True, True),
    ]


async def test_a_script_that_was_not_read_and_changes_is_asked_about_again(folder: Path, person: Person) -> None:
    script = folder / "x.sh"
    script.write_text("#" * 1_000_000 + "\n")

    def change() -> None:
        script.write_text("#" * 999_999 + "x\n")

    await person.sees("run_command", change, "deny", command="bash x.sh")
    texts: list[Script] = [script for question in person.questions for script in (question.command or _NONE).scripts]
    assert len(texts) == 2
    assert texts[0] != texts[1]


_NONE = Command("", "", "")


async def test_a_commit_is_shown_and_asked_about_again_when_the_index_changes(
    folder: Path, person: Person, git: Callable[..., str]
) -> None:
    (folder / "a.txt").write_text("two\n")
    git("add", "a.txt")

    def stage_more() -> None:
        (folder / "b.txt").write_text("sneaked in\n")
        git("add", "b.txt")

    denied = await person.sees("git_commit", stage_more, "deny", message="Words")
    assert denied.status == "denied"
    first, second = (question.diff or "" for question in person.questions)
    assert "-one\n+two\n" in first
    assert ("sneaked" in first, "+sneaked in\n" in second) == (False, True)
    assert git("log", "--format=%s") == "First"
    assert (await person.sees("git_commit", "allow_once", message="Words")).status == "ok"


async def test_a_yes_for_the_session_to_a_commit_is_none_to_another_one(
    folder: Path, person: Person, git: Callable[..., str]
) -> None:
    for word in ("two\n", "three\n"):
        (folder / "a.txt").write_text(word)
        done = await person.sees("git_commit", "allow_session", message="Words", all=True)
        assert done.status == "ok"
    assert ["+two\n" in (question.diff or "") for question in person.questions] == [True, False]
    assert len(person.questions) == 2


async def test_giving_up_changes_shows_what_is_lost(
    folder: Path, registry: Registry, context: ToolContext, git: Callable[..., str]
) -> None:
    person = Person(registry, context, mode="review")
    (folder / "a.txt").write_text("mine\n")
    calls: list[tuple[str, dict[str, object]]] = [
        ("git_checkout", {"paths": ["a.txt"]}),
        ("git_checkout", {"branch": "n", "create": True}),
        ("git_branch", {"action": "delete", "name": "main"}),
    ]
    for name, arguments in calls:
        await person.sees(name, "deny", **arguments)
    lost, switched, deleted = (question.diff or "" for question in person.questions)
    assert "-mine\n+one\n" in lost
    assert switched.startswith("Makes the branch n. Switches from main (")
    assert deleted.startswith("Deletes the branch main, which is at ")
    assert (folder / "a.txt").read_text() == "mine\n"


async def test_an_edit_of_a_note_shows_its_diff_to_the_person_and_nothing_to_the_model(
    folder: Path, person: Person
) -> None:
    notes = folder.parent / "Notes"
    notes.mkdir()
    (notes / "i.md").write_text("mine\n")
    edit = {"file": "i.md", "new_str": "theirs"}
    output = await person.sees("file_apply_patch", "deny", old_str="mine", **edit)
    assert [question.diff for question in person.questions] == [
        "--- a/~/Notes/i.md\n+++ b/~/Notes/i.md\n@@ -1,1 +1,1 @@\n-mine\n+theirs\n"
    ]
    wrong = await person.sees("file_apply_patch", "deny", old_str="min3", **edit)
    assert person.questions[-1].diff is None
    assert [output.text, wrong.text] == ["The person denied. Nothing was done."] * 2
    assert (await person.sees("file_apply_patch", "allow_once", old_str="mine", **edit)).status == "ok"
    assert (notes / "i.md").read_text() == "theirs\n"


async def test_a_long_preview_is_cut_and_a_change_beyond_the_cut_is_asked_about_again(
    folder: Path, registry: Registry, context: ToolContext
) -> None:
    person = Person(registry, context, mode="review")
    old = "".join(f"{number}\n" for number in range(30_000))
    (folder / "a.txt").write_text(old)
    arguments = {"path": "a.txt", "old_str": "\n", "new_str": "!\n", "replace_all": True}
    await person.sees("apply_patch", lambda: _append(folder / "a.txt"), "deny", **arguments)
    first, second = (question.diff or "" for question in person.questions)
    assert all(len(diff) <= 100_100 and diff.endswith(" lines are not shown]\n") for diff in (first, second))


def _append(file: Path) -> None:
    file.write_text(file.read_text() + "more\n")


async def test_a_persons_own_tool_shows_its_arguments_and_directory(
    tmp_path: Path, folder: Path, context: ToolContext
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "deploy.py").write_text(_OWN_TOOL)
    person = Person(Registry.load(tmp_path / "cache", tools), context)
    for stage in ("test", "test", "live"):
        await person.sees("deploy", "allow_session", stage=stage)
    assert [question.command for question in person.questions] == [
        Command(f'deploy {{"stage": "{stage}"}}', str(tools / "deploy.py"), str(folder), sandbox="off")
        for stage in ("test", "live")
    ]


async def test_a_name_that_is_not_utf8_is_asked_about_as_it_is_shown(person: Person, folder: Path) -> None:
    secret = folder / os.fsdecode(b"caf\xe9") / ".env"
    secret.parent.mkdir()
    secret.write_text("coffee")
    output = await person.sees("read_file", "allow_once", path=r"caf\xe9/.env")
    assert output.text == "coffee"
    (question,) = person.questions
    assert question.title == r"Read caf\xe9/.env with read_file"
