"""The tool apply_patch, called as a model calls it, on real files."""

import json
import time
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded
from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from tests.tools.conftest import Call

NOT_FOUND = (
    "a.py: old_str was not found; the file may have changed since it was read. No place in the file is clearly like it."
)
ONCE = "Add lines around it until only one fits, or set replace_all."
PATCH = """*** Begin Patch
*** Update File: a.py
@@
-one
+eins
*** Add File: new/b.py
+two
*** Delete File: c.py
*** Update File: d.py
*** Move to: moved/d.py
@@
-four
+vier
*** End Patch"""


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path) -> dict[str, str]:
    for name, text in (("a.py", "one\n"), ("c.py", "three\n"), ("d.py", "four\n")):
        (folder / name).write_text(text)
    return files(folder)


async def test_old_str_is_replaced_and_shown(folder: Path, call: Call) -> None:
    (folder / "a.py").write_bytes(b"def f():\r\n    return 1\r\n")
    output = await call("apply_patch", path="a.py", old_str="return 1\n", new_str="return 2\n")
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\r\n-    return 1\r\n+    return 2\r\n"
    [hunk] = output.details["files"][0]["hunks"]
    assert len(hunk["id"]) == 16
    assert output == ToolOutput(
        "Changed a.py: +1 -1 lines.\n" + diff.replace("\r\n", "\n").rstrip(),
        details={
            "diff": diff,
            "added": 1,
            "removed": 1,
            "files": [
                {
                    "path": "a.py",
                    "kind": "update",
                    "added": 1,
                    "removed": 1,
                    "hunks": [{"id": hunk["id"], "oldStart": 2, "oldLines": 1, "newStart": 2, "newLines": 1}],
                }
            ],
        },
    )
    assert (folder / "a.py").read_bytes() == b"def f():\r\n    return 2\r\n"


async def test_every_occurrence_is_replaced_when_asked(folder: Path, call: Call) -> None:
    (folder / "a.py").write_text("a\nb\na\n")
    output = await call("apply_patch", path="a.py", old_str="a", new_str="c", replace_all=True)
    assert output.text.startswith("Changed a.py: +2 -2 lines.\n")
    assert (folder / "a.py").read_text() == "c\nb\nc\n"


async def test_what_was_forgiven_is_said(folder: Path, call: Call) -> None:
    (folder / "a.py").write_text("if x:  \n    go()\n")
    output = await call("apply_patch", path="a.py", old_str="if x:\n    go()\n", new_str="if y:\n    go()\n")
    assert "\nNote: it fits but for white space at the ends of lines.\n" in output.text
    assert (folder / "a.py").read_text() == "if y:\n    go()\n"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("c\n", "", NOT_FOUND),
        ("a\n", "", f"a.py: old_str occurs more than once, at lines 1, 2. {ONCE}"),
        ("b\n", "b\n", "a.py: old_str and new_str are the same, so there is nothing to change."),
        ("", "b\n", "old_str is empty. Give the exact text to replace, or use append_file to add to the end."),
    ],
)
async def test_a_text_that_does_not_fit_changes_nothing(
    folder: Path, call: Call, old: str, new: str, text: str
) -> None:
    (folder / "a.py").write_text("a\na\nb\n")
    assert await call("apply_patch", path="a.py", old_str=old, new_str=new) == ToolOutput(f"Error: {text}", "error")
    assert (folder / "a.py").read_text() == "a\na\nb\n"


async def test_a_patch_changes_several_files_and_names_each(folder: Path, call: Call) -> None:
    fill(folder)
    output = await call("apply_patch", patch=PATCH)
    assert output.text.split("\n")[:4] == [
        "Changed a.py: +1 -1 lines.",
        "Created new/b.py: +1 lines.",
        "Deleted c.py: -1 lines.",
        "Moved d.py to moved/d.py: +1 -1 lines.",
    ]
    assert [(file["path"], file["kind"], file.get("movedTo")) for file in output.details["files"]] == [
        ("a.py", "update", None),
        ("new/b.py", "add", None),
        ("c.py", "delete", None),
        ("d.py", "update", "moved/d.py"),
    ]
    assert files(folder) == {"a.py": "eins\n", "new/b.py": "two\n", "moved/d.py": "vier\n"}


async def test_the_diff_that_is_shown_is_a_patch_itself(folder: Path, call: Call) -> None:
    fill(folder)
    diff = (await call("apply_patch", patch=PATCH)).details["diff"]
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    fill(folder)
    assert (await call("apply_patch", patch=diff)).details["diff"] == diff
    assert files(folder) == {"a.py": "eins\n", "new/b.py": "two\n", "moved/d.py": "vier\n"}


@pytest.mark.parametrize("form", ["bare", "twice encoded", "as a field"])
async def test_a_begin_patch_is_taken_in_every_form(
    folder: Path, registry: Registry, context: ToolContext, form: str
) -> None:
    fill(folder)
    forms = {"bare": PATCH, "twice encoded": json.dumps(PATCH), "as a field": json.dumps({"patch": PATCH})}
    prepared = registry.prepare(ToolCall("1", "apply_patch", forms[form]))
    assert isinstance(prepared, PreparedCall)
    assert prepared.title == "apply_patch a.py, new/b.py, c.py (deleted), d.py → moved/d.py"
    assert (await registry.execute(prepared, context)).status == "ok"
    assert files(folder) == {"a.py": "eins\n", "new/b.py": "two\n", "moved/d.py": "vier\n"}


async def test_a_patch_that_fails_in_one_file_changes_none(folder: Path, call: Call) -> None:
    before = fill(folder)
    (folder / "d.py").write_text("five\n")
    output = await call("apply_patch", patch=PATCH.replace("c.py", "../c.py"))
    assert output.status == "error"
    assert output.text.startswith("Error: The patch does not fit, so nothing was changed.\n../c.py: ")
    assert "\nd.py, hunk 1: these lines were not found" in output.text
    assert files(folder) == {**before, "d.py": "five\n"}


async def test_a_patch_that_is_cut_off_changes_nothing(folder: Path, call: Call) -> None:
    before = fill(folder)
    output = await call("apply_patch", patch=PATCH.removesuffix("*** End Patch"))
    assert output.text.startswith("Error: The patch cannot be read at its line 13: its last line must be")
    assert files(folder) == before


async def test_blocks_without_a_name_are_about_the_path(folder: Path, call: Call) -> None:
    fill(folder)
    block = "<<<<<<< SEARCH\none\n=======\neins\n>>>>>>> REPLACE\n"
    assert (await call("apply_patch", path="a.py", patch=block)).status == "ok"
    assert (folder / "a.py").read_text() == "eins\n"


async def test_paths_are_named_from_the_working_directory(folder: Path, call: Call, context: ToolContext) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.py").write_text("one\n")
    context.workspace.set_working_dir("sub")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+two\n*** Add File: b.py\n+x\n*** End Patch"
    assert (await call("apply_patch", patch=patch)).text.startswith("Changed sub/a.py: +1 -1 lines.\n")
    assert files(folder) == {"sub/a.py": "two\n", "sub/b.py": "x\n"}


async def test_a_protected_file_in_a_patch_is_asked_for_before_anything_is_done(
    folder: Path, registry: Registry, context: ToolContext
) -> None:
    before = fill(folder)
    patch = PATCH.replace("new/b.py", ".claude/b.md")
    prepared = registry.prepare(ToolCall("1", "apply_patch", patch))
    assert isinstance(prepared, PreparedCall)
    with pytest.raises(PermissionNeeded) as caught:
        await registry.execute(prepared, context)
    assert (caught.value.path, files(folder)) == (".claude/b.md", before)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "a.py"},
        {"path": "a.py", "old_str": "a"},
        {"old_str": "a", "new_str": "b"},
        {"path": "a.py", "patch": PATCH, "new_str": "b"},
    ],
)
async def test_half_a_call_shows_a_whole_one(call: Call, arguments: dict[str, str]) -> None:
    output = await call("apply_patch", **arguments)
    assert output.status == "error"
    assert 'A correct call: apply_patch({"path": "src/main.py", "old_str": "return 1\\n"' in output.text


async def test_a_long_diff_is_cut_in_the_text_and_whole_on_the_screen(folder: Path, call: Call) -> None:
    patch = "*** Begin Patch\n*** Add File: a\n" + "+line\n" * 500 + "*** End Patch"
    output = await call("apply_patch", patch=patch)
    assert output.text.endswith("\n[445 more lines of the diff]")
    assert output.details["diff"].count("\n+line") == 500


async def test_long_blocks_are_compared_outside_the_thread_of_the_session(folder: Path, call: Call) -> None:
    lines = [f"line {number} of {number % 7}\n" for number in range(8_000)]
    (folder / "a.py").write_text("".join(lines))
    await call("apply_patch", path="a.py", old_str=lines[-1], new_str="the tool is loaded\n")
    blocks = ["".join(f"{line.rstrip()}?\n" for line in lines[at : at + 200]) for at in range(0, 6_000, 400)]
    patch = "a.py\n" + "".join(f"<<<<<<< SEARCH\n{block}=======\n>>>>>>> REPLACE\n" for block in blocks)
    of_this_thread, of_all = time.thread_time(), time.process_time()
    assert "these lines were not found" in (await call("apply_patch", patch=patch)).text
    of_this_thread, of_all = time.thread_time() - of_this_thread, time.process_time() - of_all
    assert of_this_thread < of_all / 2
