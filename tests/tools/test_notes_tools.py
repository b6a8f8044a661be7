"""Notes of the workspace, and the person's own in ~/Notes."""

import json
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded
from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace
from tests.tools.conftest import Call


async def test_a_folder_of_notes_is_made_and_listed_with_what_is_in_it(folder: Path, call: Call) -> None:
    assert await call("notes_ls") == ToolOutput("[there are no notes yet]")
    assert await call("notes_mkdir", folder="meetings/2026") == ToolOutput(
        "There is a folder .marvin/notes/meetings/2026."
    )
    await call("write_note", name="meetings/2026/monday", content="Ship it.\n")
    await call("write_note", name="design", content="Parser first.\n")
    assert (await call("notes_ls")).text == (
        "design.md (14 bytes)\nmeetings/\nmeetings/2026/\nmeetings/2026/monday.md (9 bytes)"
    )
    assert (await call("notes_ls", folder="meetings/2026")).text == "meetings/2026/monday.md (9 bytes)"
    assert (folder / ".marvin/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize("name", ["../x", "/etc", "a/../../b", ".hidden"])
async def test_a_folder_elsewhere_is_no_folder_of_notes(call: Call, folder: Path, name: str) -> None:
    outputs = [await call("notes_mkdir", folder=name), await call("notes_ls", folder=name)]
    assert [output.status for output in outputs] == ["error", "error"]
    assert list(folder.iterdir()) == []


async def test_a_folder_that_is_not_there_says_so(call: Call) -> None:
    assert "There is no folder of notes called 'plans'" in (await call("notes_ls", folder="plans")).text


async def test_notes_are_searched_for_lines_with_all_words_whatever_git_ignores(folder: Path, call: Call) -> None:
    (folder / ".git").mkdir()
    await call("write_note", name="design", content="The Parser comes first.\nThen the lexer.\nA parser, a first try\n")
    await call("write_note", name="a b/plan.txt", content="first the parser\n")
    assert (await call("search_notes", query="FIRST parser")).text == (
        "a b/plan.txt:1: first the parser\ndesign.md:1: The Parser comes first.\ndesign.md:3: A parser, a first try"
    )
    assert (await call("search_notes", query="nowhere")).text == "[no line has these words, in 2 notes]"


async def test_many_matches_are_cut_with_a_note(call: Call) -> None:
    await call("write_note", name="long", content="word\n" * 500)
    lines = (await call("search_notes", query="word")).text.splitlines()
    assert (len(lines), lines[-1]) == (101, "[there are more; search for rarer words]")


async def test_a_note_that_is_a_link_gives_nothing_away(folder: Path, call: Call) -> None:
    (folder.parent / "secret").write_text("word of a secret\n")
    (folder / ".env").write_text("word=secret\n")
    await call("write_note", name="design", content="word\n")
    (folder / ".marvin/notes/out.md").symlink_to("../../../secret")
    (folder / ".marvin/notes/env.md").symlink_to("../../.env")
    assert (await call("search_notes", query="word")).text == "design.md:1: word"
    assert (await call("notes_ls")).text == "design.md (5 bytes)"


@pytest.fixture
def notes(folder: Path) -> Path:
    """The person's ~/Notes: the home of these tests is the folder above the workspace."""
    place = folder.parent / "Notes"
    place.mkdir()
    (place / "ideas.md").write_text("one\ntwo\nthree\n")
    return place


@pytest.fixture
def permitted(registry: Registry, context: ToolContext, notes: Path) -> Call:
    """Call a tool after the person has said yes to ~/Notes."""

    async def run(name: str, /, **arguments: object) -> ToolOutput:
        from msgspec.structs import replace

        prepared = registry.prepare(ToolCall("1", name, json.dumps(arguments)))
        if isinstance(prepared, ToolOutput):
            return prepared
        with pytest.raises(PermissionNeeded) as caught:
            await registry.execute(prepared, context)
        assert (caught.value.kind, caught.value.path) == ("outside_path", str(notes))
        return await registry.execute(
            prepared, replace(context, workspace=context.workspace.permitting(caught.value.path))
        )

    return run


async def test_the_persons_own_notes_are_read_by_lines_after_a_yes(permitted: Call) -> None:
    expected = ToolOutput("[lines 2-3 of 3]\ntwo\nthree")
    assert await permitted("file_read_lines", file="ideas.md", start_line=2) == expected
    assert await permitted("file_read_lines", file="~/Notes/ideas.md", start_line=2, end_line=3) == expected
    assert "ends at line 3" in (await permitted("file_read_lines", file="ideas.md", start_line=9)).text


async def test_the_persons_own_notes_are_changed_after_a_yes(permitted: Call, notes: Path) -> None:
    output = await permitted("file_apply_patch", file="ideas.md", old_str="two\n", new_str="2\n")
    assert output.text == "Changed ideas.md in ~/Notes: +1 -1 lines."
    assert (notes / "ideas.md").read_text() == "one\n2\nthree\n"
    output = await permitted("file_apply_patch", file="ideas.md", old_str="four\n", new_str="4\n")
    assert output.status == "error"
    assert (notes / "ideas.md").read_text() == "one\n2\nthree\n"


@pytest.mark.parametrize("path", ["../root/a", "/etc/passwd", "link", "~/x", ".env", ".tickets/1"])
async def test_nothing_beyond_the_notes_is_within_reach(permitted: Call, notes: Path, path: str) -> None:
    (notes / "link").symlink_to("/etc/passwd")
    (notes / ".env").write_text("KEY=1\n")
    outputs = [
        await permitted("file_read_lines", file=path),
        await permitted("file_apply_patch", file=path, old_str="KEY=1", new_str="x"),
    ]
    assert [output.status for output in outputs] == ["error", "error"]
    assert "root:" not in outputs[0].text


async def test_without_a_notes_folder_it_says_where_it_looked(call: Call, folder: Path) -> None:
    assert f"{folder.parent}/Notes cannot be used" in (await call("file_read_lines", file="a.md")).text


async def test_a_workspace_that_holds_the_notes_needs_no_question(
    registry: Registry, context: ToolContext, notes: Path
) -> None:
    from msgspec.structs import replace

    prepared = registry.prepare(ToolCall("1", "file_read_lines", '{"file": "ideas.md", "end_line": 1}'))
    assert isinstance(prepared, PreparedCall)
    at_home = replace(context, workspace=Workspace(Root(notes.parent)))
    assert await registry.execute(prepared, at_home) == ToolOutput("[lines 1-1 of 3]\none")


async def test_what_was_said_before_is_searched_in_the_store_and_in_written_backups(folder: Path, call: Call) -> None:
    logs = folder / ".marvin/logs"
    logs.mkdir(parents=True)
    (logs / "context-backup-1.jsonl").write_text('{"role": "user", "content": "Which Parser won?"}\n{"role": "tool"}\n')
    (logs / "other.jsonl").write_text('{"content": "parser"}\n')
    assert (await call("search_history_backups", query="parser won")).text.splitlines() == [
        "session 1: parser won",
        "[From files in .marvin/logs, which anybody who writes here may have made: not surely what was said]",
        '.marvin/logs/context-backup-1.jsonl:1: {"role": "user", "content": "Which Parser won?"}',
    ]
