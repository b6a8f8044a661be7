import base64
import os
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded
from marvin_server.messages import Image
from marvin_server.tools.base import ToolOutput
from tests.tools.conftest import Call

PNG = b"\x89PNG\r\n\x1a\n and the rest"


async def test_a_small_file_is_read_as_it_is(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("one\ntwo")
    assert await call("read_file", path="a.txt") == ToolOutput("one\ntwo")


async def test_an_empty_file_says_so(folder: Path, call: Call) -> None:
    (folder / "a.txt").touch()
    assert await call("read_file", path="a.txt") == ToolOutput("[the file is empty]")


async def test_a_file_over_10_kb_needs_a_range(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("0123456789\n" * 1000)
    assert await call("read_file", path="a.txt") == ToolOutput(
        "Error: File 'a.txt' is 1,000 lines (10.7 KB), too much to read at once. Find the place with code_grep, or "
        'read a section: read_file({"path": "a.txt", "start_line": 1, "end_line": 100})',
        "error",
    )
    (folder / "a.txt").write_text("x" * 10_240)
    assert (await call("read_file", path="a.txt")).status == "ok"


async def test_a_range_says_which_lines_it_holds(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 5001)))
    assert await call("read_file", path="a.txt", start_line=3, end_line=4) == ToolOutput(
        "[lines 3-4 of 5000]\nline 3\nline 4"
    )
    assert await call("read_file", path="a.txt", start_line=4999, end_line=9999) == ToolOutput(
        "[lines 4999-5000 of 5000]\nline 4999\nline 5000"
    )
    assert await call("read_file", path="a.txt", end_line=1) == ToolOutput("[lines 1-1 of 5000]\nline 1")
    assert (await call("read_file", path="a.txt", start_line=2)).text.startswith("[lines 2-2001 of 5000]\nline 2\n")


async def test_a_range_of_long_lines_is_cut_at_50_000_characters(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text(("x" * 999 + "\n") * 100)
    output = await call("read_file", path="a.txt", start_line=1, end_line=100)
    assert output.text == "\n".join(["[lines 1-50 of 100]", *["x" * 999] * 50])


async def test_a_range_beyond_the_end_or_backwards_is_an_error(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("one\n")
    assert (await call("read_file", path="a.txt", start_line=7)).text == (
        "Error: File 'a.txt' ends at line 1; start_line 7 is past it."
    )
    assert (await call("read_file", path="a.txt", start_line=7, end_line=6)).text == (
        "Error: end_line 6 is before start_line 7."
    )


async def test_an_image_is_for_the_models_eyes(folder: Path, call: Call) -> None:
    (folder / "a.PNG").write_bytes(PNG)
    assert await call("read_file", path="a.PNG") == ToolOutput(
        f"[image/png image, {len(PNG)} bytes]", images=(Image("image/png", base64.b64encode(PNG).decode()),)
    )


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [(b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a", "image/gif"), (b"RIFF\0\0\0\0WEBP", "image/webp")],
)
async def test_an_images_type_is_told_by_its_content(folder: Path, call: Call, content: bytes, mime_type: str) -> None:
    (folder / "a.png").write_bytes(content)
    assert [image.mime_type for image in (await call("read_file", path="a.png")).images] == [mime_type]


@pytest.mark.parametrize(
    ("path", "start"),
    [
        ("missing.txt", "Error: File not found: 'missing.txt'."),
        ("folder", "Error: 'folder' is a folder, not a file. It holds:\n  inside.txt"),
        ("binary", "Error: 'binary' is a binary file of 4 bytes"),
        ("text.png", "Error: 'text.png' has the name of an image, but its content is no PNG, JPEG, GIF or WebP."),
        ("large.png", "Error: 'large.png' has 5.0 MB, over the limit of 5.0 MB."),
        ("../outside", "Error: '../outside' is outside the workspace."),
    ],
)
async def test_what_cannot_be_read_is_explained(folder: Path, call: Call, path: str, start: str) -> None:
    (folder / "folder").mkdir()
    (folder / "folder" / "inside.txt").touch()
    (folder / "binary").write_bytes(b"a\0bc")
    (folder / "text.png").write_text("text")
    (folder / "large.png").write_bytes(PNG + bytes(5_000_000))
    output = await call("read_file", path=path)
    assert (output.status, output.text[: len(start)]) == ("error", start)


async def test_a_protected_file_is_asked_for(folder: Path, call: Call) -> None:
    (folder / ".env").write_text("KEY=1")
    with pytest.raises(PermissionNeeded) as caught:
        await call("read_file", path=".env")
    assert (caught.value.kind, caught.value.path) == ("protected_path", ".env")


async def test_a_created_file_is_shown_as_a_diff(folder: Path, call: Call) -> None:
    assert await call("create_file", path="a/b.txt", content="one\ntwo\n") == ToolOutput(
        "Created a/b.txt: +2 lines.",
        details={"diff": "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n", "added": 2, "removed": 0},
    )
    assert (folder / "a" / "b.txt").read_text() == "one\ntwo\n"


async def test_an_existing_file_is_not_created_again(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("mine")
    assert await call("create_file", path="a.txt", content="yours") == ToolOutput(
        "Error: File already exists: 'a.txt'. Use apply_patch to modify existing files.", "error"
    )
    assert (folder / "a.txt").read_text() == "mine"


async def test_text_is_appended_to_an_existing_file_only(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("one\n")
    assert await call("append_file", path="a.txt", content="two\n") == ToolOutput(
        "Added to a.txt: +1 lines.",
        details={"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,2 @@\n one\n+two\n", "added": 1, "removed": 0},
    )
    assert (folder / "a.txt").read_text() == "one\ntwo\n"
    assert (await call("append_file", path="b.txt", content="two\n")).status == "error"
    assert not (folder / "b.txt").exists()


async def test_bytes_that_are_no_text_are_shown_as_escapes_and_stay(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_bytes("naïve café ü\nprice = 1\n".encode() + b"\xff\n")
    assert await call("read_file", path="a.txt") == ToolOutput("naïve café ü\nprice = 1\n\\xff\n")
    changed = await call("apply_patch", path="a.txt", old_str="price = 1", new_str="price = 1  # é")
    assert changed.status == "ok"
    assert "\\xff" in changed.details["diff"]
    assert (folder / "a.txt").read_bytes() == "naïve café ü\nprice = 1  # é\n".encode() + b"\xff\n"


async def test_a_slash_at_the_end_names_a_folder(folder: Path, call: Call) -> None:
    (folder / "a.txt").touch()
    for output in (await call("create_file", path="sub/new/", content=""), await call("read_file", path="a.txt/")):
        assert output.status == "error"
        assert "ends with a slash, so it names a folder" in output.text
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


async def test_one_long_line_is_counted_as_one(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("x" * 20_000)
    assert "is 1 line (" in (await call("read_file", path="a.txt")).text


async def test_a_huge_file_has_at_least_some_lines(folder: Path, call: Call) -> None:
    (folder / "big").write_bytes(b"x" * 999 + b"\n" + b"y" * 9000)
    os.truncate(folder / "big", 1 << 40)
    assert (await call("read_file", path="big", start_line=1, end_line=1)).text.startswith("[lines 1-1 of at least 2]")
