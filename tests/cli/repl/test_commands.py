"""Every command of the terminal, and what a line is that is none."""

import os
from pathlib import Path

import pytest
from marvin_cli.repl import commands
from marvin_cli.view.base import Reply

from tests.cli.repl.conftest import Open, Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says

MAKE = Call("create_file", '{"path": "new.txt", "content": "made\\n"}')

# What each says first, in a session in which a turn has made new.txt.
SAID = {
    "help": "output: /blender",
    "theme light": "plain: Theme: light",
    "theme nope": "error: there is no theme 'nope'",
    "mode": "output: Mode: auto",
    "mode plan": "output: Mode: plan",
    "model other": "output: Model: other",
    "provider offline": "output: Provider: offline",
    "thinking high": "output: Thinking: high",
    "usage": "output: Total: 2 requests",
    "cost": "output: Total: 2 requests",
    "usage now": "error: /usage takes nothing after it",
    "undo": "output: Taken back: new.txt",
    "redo": "error: there is nothing to redo",
    "diff": "plain: ```diff\n",
    "context": "output: ",
    "tools": "output: ",
    "tools read_file": "output: read_file (files, read)",
    "tools nope": "error: there is no tool called nope",
    "sessions": "output: 01",
    "sessions nowhere-said": "output: Nothing found.",
    "resume nowhere-said": "error: there is no session with 'nowhere-said'",
    "fork": "> make it",
    "fork 9": "error: there are only 1 prompts",
    "fork x": "error: /fork takes a number",
    "tree": "output: * make it",
    "rename A better title": "note: This session is called 'A better title' now",
    "rename": "error: /rename needs the new title",
    "export told.md": "note: Written to ",
    "export told.json": "note: Written to ",
    "queue": "output: Nothing waits.",
    "queue drop 3": "error: /queue shows what waits",
    "code": "note: Coding mode is on",
    "shell": "note: Shell mode is on",
    "sh": "note: Shell mode is on",
    "pro": "note: Model: high-model",
    "voice": "error: voice input needs",
    "v 3": "error: voice input needs",
    "blender": "error: Blender mode needs",
    "profiles": "output: * default",
    "profiles other": "note: Profile other, a new one",
    "profiles ../x": "error: a profile needs a name",
    "saved": "output: No places are saved.",
    "preferences": "note: The preferences hold from now on",
    "clear": "(cleared)",
    "quit": "",
    "exit": "",
}


async def said_after(opened: Terminal, line: str, text: str) -> str:
    """The first line after ``line`` was entered that begins with ``text``."""
    before = len(opened.view.lines)
    opened.view.enter(line)
    found: str = await opened.view.until(
        lambda: next(
            (each for each in opened.view.lines[before:] if each.startswith(text) and each != f"> {line}"), None
        )
    )
    return found


@pytest.mark.parametrize(("line", "said"), SAID.items())
async def test_every_command_does_what_its_name_says(
    terminal: Open, model_server: ThreadedModelServer, line: str, said: str
) -> None:
    model_server.play([calls(MAKE), says("Made it.")])
    opened = await terminal(MARVIN_CODE_MODEL_HIGH="high-model", EDITOR="true")
    opened.view.enter("make it")
    await opened.view.turns(1)
    if not said:
        opened.view.enter(f"/{line}")
        await opened.left()
    else:
        await said_after(opened, f"/{line}", said)


def test_the_page_names_every_command() -> None:
    page = (Path(__file__).parents[3] / "docs" / "terminal.md").read_text()
    assert [name for name in commands.built_in() if f"/{name}" not in page and f"`{name}`" not in page] == []


def test_the_table_has_every_command() -> None:
    assert {line.partition(" ")[0] for line in SAID} == set(commands.built_in())


@pytest.mark.parametrize("line", ["!code", "!shell", "!sh", "!pro", "!voice", "!v", "!blender", "usage", "saved"])
async def test_the_other_spelling_does_the_same(terminal: Open, line: str) -> None:
    opened = await terminal(MARVIN_CODE_MODEL_HIGH="high-model")
    name = line.lstrip("!")
    said = "output: No model request" if name == "usage" else SAID[f"{name} 3" if name == "v" else name]
    await said_after(opened, line, said)


async def test_an_unknown_command_sends_nothing_and_says_what_may_be_meant(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    opened = await terminal()
    assert "did you mean /mode or /model" in await said_after(opened, "/mod", "error: there is no command /mod")
    await opened.view.until(lambda: opened.view.drafts == ["/mod"])
    assert not model_server.requests
    opened.view.enter(" /mod is sent", "/etc/hosts is wrong")
    await opened.view.turns(2)
    assert [request.json["messages"][-1]["content"] for request in model_server.requests] == [
        " /mod is sent",
        "/etc/hosts is wrong",
    ]


async def test_a_command_of_the_persons_own_runs_where_they_are_with_their_rights(
    terminal: Open, workspace: Path
) -> None:
    opened = await terminal(MY_API_KEY="their own")
    await said_after(opened, "!echo $MY_API_KEY > key; cat key; exit 3", "note: exit code 3")
    assert (workspace / "key").read_text() == "their own\n"
    assert "output: their own" in opened.view.lines
    assert not opened.view.asked


async def test_a_command_streams_and_ctrl_c_ends_it_with_its_children(terminal: Open, workspace: Path) -> None:
    opened = await terminal()
    await said_after(opened, "!sleep 300 & echo $! > pid; echo begun; wait", "output: begun")
    opened.view.interrupt()
    await opened.view.said("[Cancelled]")
    await opened.view.until(lambda: not opened.loop.shell.is_running)
    assert not alive(int((workspace / "pid").read_text()))


async def test_long_output_is_bounded(terminal: Open) -> None:
    opened = await terminal()
    await said_after(opened, "!seq 100000; echo the end", "output: [… 98,951 lines left out …]")
    shown = [line for text in opened.view.lines for line in text.splitlines()]
    assert len(shown) < 1_100
    assert shown[-1] == "the end"


async def test_shell_mode_keeps_its_folder_and_exit_leaves_it(terminal: Open, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    opened = await terminal()
    await said_after(opened, "!shell", "note: Shell mode is on")
    await said_after(opened, "cd sub", f"output: now in {workspace / 'sub'}")
    await said_after(opened, "pwd", f"output: {workspace / 'sub'}")
    await said_after(opened, "cd nowhere", "note: exit code 1")
    await said_after(opened, "exit", "note: Shell mode is off")


@pytest.mark.parametrize(
    "line",
    ["cd 'a b' && true", "true; cd a\\ b", "pushd 'a b' >/dev/null", 'D="a b"; cd "$D"; exit 3', "cd 'a b'; (cd /)"],
)
async def test_the_shell_is_where_the_line_before_has_left_it(terminal: Open, workspace: Path, line: str) -> None:
    (workspace / "a b").mkdir()
    opened = await terminal()
    await said_after(opened, f"!{line}", f"output: now in {workspace / 'a b'}")
    await said_after(opened, "!pwd", f"output: {workspace / 'a b'}")
    await said_after(opened, "!cd - >/dev/null", f"output: now in {workspace}")
    await said_after(opened, "!echo 1; exec true", "output: 1")
    assert opened.loop.shell.directory == workspace


async def test_forking_before_a_prompt_puts_it_back_into_the_input(
    terminal: Open, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("One."), says("Two.")])
    opened = await terminal()
    opened.view.enter("first")
    await opened.view.turns(1)
    opened.view.enter("second")
    await opened.view.turns(2)
    parent = opened.loop.conversation.session.id
    opened.view.enter("/fork 1")
    await opened.view.until(lambda: opened.view.drafts == ["second"])
    conversation = opened.loop.conversation
    assert conversation.session.id != parent
    assert [message.text for message in conversation.store.history(conversation.session.id)] == ["first", "One."]
    assert (await said_after(opened, "/tree", "output: - first")).count("\n") == 1


async def test_another_session_is_chosen_and_gone_on_with(terminal: Open, model_server: ThreadedModelServer) -> None:
    opened = await terminal()
    opened.view.enter("first")
    await opened.view.turns(1)
    first = opened.loop.conversation.session.id
    opened.view.enter("/clear")
    await opened.view.until(lambda: opened.loop.conversation.session.id != first)
    opened.view.chosen.append(first)
    opened.view.enter("/resume")
    await opened.view.until(lambda: opened.loop.conversation.session.id == first)
    assert [choice.label for choice in opened.view.offered[0]] == ["first"]


async def test_the_diff_is_that_of_the_whole_session(terminal: Open, model_server: ThreadedModelServer) -> None:
    again = Call("apply_patch", '{"path": "new.txt", "old_str": "made", "new_str": "made again"}')
    model_server.play([calls(MAKE), calls(again), says("Made it.")])
    opened = await terminal()
    opened.view.enter("make it")
    await opened.view.turns(1)
    shown = await said_after(opened, "/diff", "plain: ")
    assert "+made again" in shown
    assert "+made\n" not in shown
    await said_after(opened, "/undo", "output: Taken back: new.txt")
    await said_after(opened, "/diff", "note: Nothing was changed")


async def test_exports_never_overwrite(terminal: Open, workspace: Path, model_server: ThreadedModelServer) -> None:
    model_server.play([says("One.")])
    opened = await terminal()
    opened.view.enter("first")
    await opened.view.turns(1)
    await said_after(opened, "/export told.md", "note: Written")
    assert "One." in (workspace / "told.md").read_text()
    await said_after(opened, "/export told.md", f"error: {workspace / 'told.md'}: File exists")


async def test_sessions_are_left_alone_while_a_turn_runs(terminal: Open, model_server: ThreadedModelServer) -> None:
    model_server.play([says("Never ", "done.", stall_after=2)])
    opened = await terminal()
    opened.view.enter("go")
    await opened.view.until(lambda: opened.view.streamed)
    for line in ("/clear", "/fork", "/resume", "/code", "/profiles other"):
        await said_after(opened, line, "error: a turn is running")


async def test_a_command_that_the_person_wrote_sends_its_prompt(
    terminal: Open, home: Path, model_server: ThreadedModelServer
) -> None:
    folder = home / "marvin" / "config" / "commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text(
        "---\ndescription: Look at a file\narguments: FILE\n---\nReview $1 for $ARGUMENTS.\n"
    )
    (folder / "quit.md").write_text("never\n")
    opened = await terminal()
    assert "/review FILE" in await said_after(opened, "/help", "output: ")
    opened.view.enter('/review "a b.py" bugs')
    await opened.view.turns(1)
    assert model_server.requests[0].json["messages"][-1]["content"] == 'Review a b.py for "a b.py" bugs.'


async def test_a_yes_for_the_session_to_a_projects_command_ends_with_the_session(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / ".marvin/commands").mkdir(parents=True)
    (workspace / ".marvin/commands/ship.md").write_text("Ship it.\n")
    opened = await terminal()
    opened.view.replies.put_nowait(Reply("allow_session"))
    opened.view.enter("/ship")
    await opened.view.turns(1)
    opened.view.replies.put_nowait(Reply("deny"))
    opened.view.enter("/clear", "/ship")
    await opened.view.said("was not accepted")
    assert (len(opened.view.asked), len(model_server.requests)) == (2, 1)


@pytest.mark.parametrize(("reply", "sent"), [("allow_once", 2), ("allow_session", 2), ("deny", 0)])
async def test_a_projects_command_counts_once_its_content_was_accepted(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer, reply: str, sent: int
) -> None:
    (workspace / ".marvin/commands").mkdir(parents=True)
    (workspace / ".marvin/commands/ship.md").write_text("Ship it.\n")
    opened = await terminal()
    opened.view.enter("/ship")
    (asked,) = await opened.view.until(lambda: opened.view.asked)
    assert (asked.kind, "Ship it." in asked.reason) == ("trust", True)
    opened.view.replies.put_nowait(Reply(reply))  # pyright: ignore[reportArgumentType]
    if sent:
        await opened.view.turns(1)
    else:
        await opened.view.said("was not accepted")
    opened.view.enter("/ship")
    if sent == 2:
        await opened.view.turns(2)
    else:
        await opened.view.until(lambda: len(opened.view.asked) == 2)
        opened.view.replies.put_nowait(Reply("deny"))
        await opened.view.until(lambda: sum("was not accepted" in line for line in opened.view.lines) == 2 - sent)
    assert len(model_server.requests) == sent


async def test_preferences_that_cannot_be_read_are_kept_aside_and_the_earlier_ones_hold(
    terminal: Open, home: Path, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "theme: [broken" > "$1"\n')
    editor.chmod(0o755)
    opened = await terminal(EDITOR=str(editor))
    said = await said_after(opened, "preferences", "error: line 2: ")
    folder = home / "marvin" / "config" / "profiles" / "default"
    (kept,) = folder.glob("preferences.yaml.broken-*")
    assert kept.read_text() == "theme: [broken"
    assert str(kept) in said
    assert (folder / "preferences.yaml").read_text().startswith("# Preferences of this profile")


@pytest.mark.parametrize(("editor", "said"), [("/nowhere/editor", "/nowhere/editor: "), ('"unclosed', "no command")])
async def test_an_editor_that_is_none_is_said(terminal: Open, editor: str, said: str) -> None:
    opened = await terminal(EDITOR=editor)
    assert said in await said_after(opened, "preferences", "error: ")
    assert not any("internal error" in line for line in opened.view.lines)


@pytest.mark.parametrize(("text", "holds"), [("theme: light", True), ("theme: [broken", False)])
async def test_what_was_written_counts_though_the_editor_has_failed(
    terminal: Open, home: Path, tmp_path: Path, text: str, holds: bool
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "{text}" > "$1"\nexit 3\n')
    editor.chmod(0o755)
    opened = await terminal(EDITOR=str(editor))
    said = "warning: the editor ended with exit code 3" if holds else "error: line"
    await said_after(opened, "preferences", said)
    await opened.view.said("from now on" if holds else "the earlier preferences hold")
    assert opened.person.preferences.theme == ("light" if holds else "auto")
    file = home / "marvin" / "config" / "profiles" / "default" / "preferences.yaml"
    assert (file.read_text() == text) == holds


async def test_preferences_that_cannot_be_written_are_said(terminal: Open, home: Path) -> None:
    opened = await terminal(EDITOR="true")
    file = home / "marvin" / "config" / "profiles" / "default" / "preferences.yaml"
    file.mkdir(parents=True)
    assert "Is a directory" in await said_after(opened, "preferences", "error: ")
    assert not any("internal error" in line for line in opened.view.lines)


async def test_a_command_that_is_too_long_is_refused(
    terminal: Open, home: Path, model_server: ThreadedModelServer
) -> None:
    folder = home / "marvin" / "config" / "commands"
    folder.mkdir(parents=True)
    (folder / "long.md").write_text("x" * 100_001)
    (folder / "fits.md").write_text("x" * 100_000)
    opened = await terminal()
    assert "100,000 characters at most" in await said_after(opened, "/long", "error: ")
    opened.view.enter("/fits")
    await opened.view.turns(1)
    assert len(model_server.requests) == 1


async def test_preferences_reach_the_model_and_the_terminal(
    terminal: Open, home: Path, tmp_path: Path, model_server: ThreadedModelServer
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "theme: light\\ndietary: [vegan, no nuts]\\n" > "$1"\n')
    editor.chmod(0o755)
    opened = await terminal(EDITOR=str(editor))
    await said_after(opened, "preferences", "note: The preferences hold")
    assert opened.view.theme == "light"
    opened.view.enter("what can I eat?")
    await opened.view.turns(1)
    assert "- dietary: vegan, no nuts" in model_server.requests[0].json["messages"][0]["content"]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
