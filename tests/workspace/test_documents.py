"""Text files keep what a person or another program put into them, and every failure says what to do."""

import asyncio
import codecs
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root
from marvin_server.workspace.documents import Document
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.line_ranges import LineRange
from tests.patience import SECONDS
from tests.workspace.writing import append, create

FILL_DISK = """
import pathlib, resource, signal, sys
from marvin_server.errors import ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root

root = Root(pathlib.Path(sys.argv[1]))
document = documents.read(root, sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
text = "x" * 10000
new = Change("new", None, text)
for change in (lambda: documents.write(root, document, text), lambda: stage(root, [new]).commit()):
    try:
        change()
    except ToolError as error:
        print(error)
"""


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"a\r\nb\nc\r", "a\r\nb\nc\r", "utf-8"),
        ("grün\n".encode(), "grün\n", "utf-8"),
        (codecs.BOM_UTF8 + b"a\n", "a\n", "utf-8-sig"),
        ("\ufeffa\r\n".encode("utf-16-le"), "a\r\n", "utf-16-le"),
        ("\ufeffa\n".encode("utf-16-be"), "a\n", "utf-16-be"),
        ("grün\n".encode("latin-1"), "grün\n", "latin-1"),
        (b"x" * 8191 + "ü".encode(), "x" * 8191 + "ü", "utf-8"),
        (b"x" * 9000 + b"\xe9", "x" * 9000 + "é", "latin-1"),
        ("grün é\n".encode() + b"\xff\n", "grün é\n\udcff\n", "utf-8"),
        ("grün é\n".encode() + b"x" * 9000 + b"\xff\n", "grün é\n" + "x" * 9000 + "\udcff\n", "utf-8"),
    ],
)
def test_a_file_is_read_and_written_in_its_own_encoding(
    root: Root, raw: bytes, text: str, encoding: documents.Encoding
) -> None:
    path = root.path / "file"
    path.write_bytes(raw)
    document = documents.read(root, "file")
    assert document == Document("file", text, encoding, document.digest)

    written = documents.write(root, document, f"new {text}")
    plain = encoding.removesuffix("-sig")
    mark = raw[: len(raw) - len(text.encode(plain, "surrogateescape"))]
    assert path.read_bytes() == mark + f"new {text}".encode(plain, "surrogateescape")
    assert documents.read(root, "file") == written


@given(st.binary(max_size=200))
def test_any_text_file_survives_being_written_as_it_was_read(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(raw)
        root = Root(Path(folder))
        try:
            document = documents.read(root, "file")
        except ToolError:
            assert b"\0" in raw or raw.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
            return
        assert documents.write(root, document, document.text) == document
        assert path.read_bytes() == raw


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=300), st.integers(1, 9))
async def test_a_range_of_lines_is_that_slice_of_the_text(text: str, start: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Root(Path(folder))
        create(root, "file", text)
        lines = text.removesuffix("\n").split("\n") if text else []
        expected = [line.removesuffix("\r") for line in lines]
        found = await documents.read_lines(root, "file", start, start + 2)
        assert found == LineRange(expected[start - 1 : start + 2], len(expected))


async def test_lines_are_read_from_files_with_byte_order_marks(root: Root) -> None:
    for number, raw in enumerate([codecs.BOM_UTF8 + b"a\r\nb", "\ufeffa\nb".encode("utf-16-le")]):
        (root.path / str(number)).write_bytes(raw)
        assert await documents.read_lines(root, str(number), 1, 9) == LineRange(["a", "b"], 2)


async def test_a_line_of_ten_megabytes_is_cut_with_a_note_and_kept_out_of_memory(root: Root) -> None:
    size = 10 * 1024 * 1024
    (root.path / "file").write_text("first\n" + "x" * size + "\nlast")
    assert await documents.read_lines(root, "file", 1, 3) == LineRange(
        ["first", "x" * 2000 + " … [line cut: 10,485,761 characters in all]", "last"],
        3,
    )


@pytest.mark.parametrize("length", [1999, 2000, 2001, 2002, 2003])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
async def test_no_line_is_cut_without_a_note(root: Root, length: int, end: str) -> None:
    (root.path / "file").write_bytes(b"x" * length + end.encode())
    [line] = (await documents.read_lines(root, "file", 1, 1)).lines
    assert (line == "x" * length) == (length <= 2000)
    assert ("line cut" in line) == (length > 2000)


async def test_a_file_over_twenty_megabytes_is_read_by_lines_only(root: Root) -> None:
    line = b"x" * 99 + b"\n"
    (root.path / "big").write_bytes(line * 250_000)
    with pytest.raises(ToolError) as caught:
        documents.read(root, "big")
    assert str(caught.value) == (
        "'big' has 25.0 MB, over the limit of 20.0 MB. "
        "Text can be read in ranges (start_line, end_line) or searched (code_grep)."
    )
    assert await documents.read_lines(root, "big", 249_999, 300_000) == LineRange(["x" * 99] * 2, 250_000)


@pytest.mark.parametrize("filler", [0, 9000])
async def test_lines_and_whole_files_are_read_in_the_same_encoding(root: Root, filler: int) -> None:
    for first, bad in (("grün é".encode(), b"\xff"), (b"plain", b"\xe9")):
        (root.path / "file").write_bytes(first + b"x" * filler + b"\n" + bad)
        whole = readable(documents.read(root, "file").text)
        found = await documents.read_lines(root, "file", 2, 2)
        assert found.lines == [whole.split("\n")[1]]


async def test_a_huge_file_is_not_read_to_its_end_for_the_sake_of_two_lines(root: Root) -> None:
    (root.path / "big").write_bytes(b"one\ntwo\n" + b"x" * 9000)
    os.truncate(root.path / "big", 1 << 40)
    found = await documents.read_lines(root, "big", 1, 2)
    assert (found.lines, found.is_counted) == (["one", "two"], False)
    [line] = (await documents.read_lines(root, "big", 3, 3)).lines
    assert "[line cut: at least 3" in line


async def test_a_cancelled_read_stops_at_once_and_the_loop_stays_free(root: Root) -> None:
    (root.path / "big").write_bytes(b"one\n" + b"x" * 9000)
    os.truncate(root.path / "big", 1 << 40)
    reading = asyncio.create_task(documents.read_lines(root, "big", 5, 5))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    async with asyncio.timeout(SECONDS):
        await asyncio.get_running_loop().shutdown_default_executor()


def test_a_link_to_nowhere_is_called_so(root: Root) -> None:
    (root.path / "link").symlink_to("gone/file")
    for use in (lambda: documents.read(root, "link"), lambda: create(root, "link", "")):
        with pytest.raises(ToolError, match=r"^'link' is a symbolic link to 'gone/file', where there is nothing\.$"):
            use()


def test_bytes_are_read_as_they_are_up_to_a_limit(root: Root) -> None:
    (root.path / "picture").write_bytes(b"\x89PNG\0")
    assert documents.read_bytes(root, "picture", 5) == b"\x89PNG\0"
    with pytest.raises(ToolError, match="'picture' has 5 bytes, over the limit of 4 bytes"):
        documents.read_bytes(root, "picture", 4)


def test_creating_makes_the_folders_and_refuses_what_exists(root: Root) -> None:
    create(root, "a/b/file", "one\r\ntwo")
    assert (root.path / "a/b/file").read_bytes() == b"one\r\ntwo"
    document = documents.read(root, "a/b/file")
    assert document == Document("a/b/file", "one\r\ntwo", "utf-8", document.digest)
    for path in ("a/b/file", "a/b"):
        with pytest.raises(ToolError) as caught:
            create(root, path, "other")
        assert str(caught.value) == f"File already exists: '{path}'. Use apply_patch to modify existing files."
    assert (root.path / "a/b/file").read_bytes() == b"one\r\ntwo"


def test_appending_adds_exactly_the_text_in_the_encoding_of_the_file(root: Root) -> None:
    (root.path / "file").write_bytes("\ufeffa".encode("utf-16-le"))
    assert append(root, "file", "\r\nb") == documents.read(root, "file").text == "a\r\nb"
    assert (root.path / "file").read_bytes() == "\ufeffa\r\nb".encode("utf-16-le")
    with pytest.raises(ToolError, match="File not found: 'missing'"):
        append(root, "missing", "text")


def test_a_file_that_changed_since_it_was_read_is_left_alone(root: Root) -> None:
    (root.path / "file").write_text("one")
    document = documents.read(root, "file")
    (root.path / "file").write_text("two")
    with pytest.raises(ToolError, match=r"'file' has changed on disk since it was read\. Read it again\."):
        documents.write(root, document, "three")
    assert (root.path / "file").read_text() == "two"

    (root.path / "file").unlink()
    with pytest.raises(ToolError, match="File not found"):
        documents.write(root, document, "three")


def test_mode_and_links_stay_and_all_names_of_a_file_see_the_change(root: Root) -> None:
    (root.path / "sub").mkdir()
    (root.path / "sub/script").write_text("old")
    (root.path / "sub/script").chmod(0o4755)
    (root.path / "soft").symlink_to("sub/script")
    documents.write(root, documents.read(root, "soft"), "new")
    assert (root.path / "soft").is_symlink()
    assert (root.path / "sub/script").read_text() == "new"
    assert (root.path / "sub/script").stat().st_mode & 0o7777 == 0o4755

    (root.path / "hard").hardlink_to(root.path / "sub/script")
    documents.write(root, documents.read(root, "hard"), "n")
    assert (root.path / "sub/script").samefile(root.path / "hard")
    assert (root.path / "sub/script").read_text() == "n"


def test_text_that_the_encoding_cannot_hold_changes_nothing(root: Root) -> None:
    (root.path / "old").write_bytes(b"\xe9")
    with pytest.raises(ToolError, match="'old' is latin-1 text, which cannot hold the character '→'"):
        documents.write(root, documents.read(root, "old"), "→")
    assert (root.path / "old").read_bytes() == b"\xe9"
    with pytest.raises(ToolError, match=r"cannot hold the character '\\ud800'"):
        create(root, "new", "\ud800")
    assert not (root.path / "new").exists()


def test_binary_files_are_refused_with_their_size(root: Root) -> None:
    for raw, read in product(
        (b"a" * 8191 + b"\0" + b"a" * 2_000_000, codecs.BOM_UTF32_LE + b"a\0\0\0" * 500_000),
        (lambda: documents.read(root, "data"), lambda: asyncio.run(documents.read_lines(root, "data", 1, 2))),
    ):
        (root.path / "data").write_bytes(raw)
        with pytest.raises(ToolError) as caught:
            read()
        assert str(caught.value) == "'data' is a binary file of 2.0 MB; only text can be read here."


def test_a_missing_file_shows_what_is_there_instead(root: Root) -> None:
    (root.path / "src/inner").mkdir(parents=True)
    (root.path / "src/main.py").touch()
    with pytest.raises(ToolError) as caught:
        documents.read(root, "src/gone/main.ts")
    assert str(caught.value) == "File not found: 'src/gone/main.ts'. Files in 'src':\n  inner/\n  main.py"
    with pytest.raises(ToolError) as caught:
        documents.read(root, "main.py")
    assert str(caught.value) == f"File not found: 'main.py'. Working dir: {root.path}. Files:\n  src/"


def test_a_folder_is_not_read_or_written_as_a_file(root: Root) -> None:
    (root.path / "src").mkdir()
    (root.path / "src/main.py").touch()
    with pytest.raises(ToolError) as caught:
        documents.read(root, "src")
    assert str(caught.value) == "'src' is a folder, not a file. It holds:\n  main.py"
    with pytest.raises(ToolError, match="a part of its path is a file"):
        create(root, "src/main.py/x", "")


@pytest.mark.parametrize("names", [1, 2])
def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path, names: int) -> None:
    (tmp_path / "file").write_text("o" * 3000)
    if names == 2:
        (tmp_path / "other").hardlink_to(tmp_path / "file")
    run = subprocess.run(
        [sys.executable, "-c", FILL_DISK, os.fspath(tmp_path), "file"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [
        "Failed writing 'file': it would be larger than a file may be.",
        "Failed creating 'new': it would be larger than a file may be.",
    ]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ["file", "other"][:names], "o" * 3000
    )


def test_reading_a_big_range_of_lines_needs_little_memory(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 150_000_000)
    program = (
        "import asyncio, pathlib, resource, sys\n"
        "from marvin_server.workspace import documents\n"
        "from marvin_server.workspace.confine import Root\n"
        "root = Root(pathlib.Path(sys.argv[1]))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "asyncio.run(documents.read_lines(root, 'big', 1, 1))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, os.fspath(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout) * unit < 20_000_000
