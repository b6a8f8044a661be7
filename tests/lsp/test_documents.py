"""Open documents as the client's notifications tell of them."""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.lsp import on_disk
from marvin_server.lsp.documents import ContentChange, Documents
from marvin_server.lsp.text_edits import text_edits
from marvin_server.protocol.places import Position, Range
from marvin_server.protocol.reading import read
from marvin_server.workspace.editor import Buffer
from tests.lsp.buffers import Buffers

TEXTS = st.text(st.sampled_from("ab\n\n\r é😀"), max_size=30)
ENCODINGS = ("utf-8", "utf-16", "utf-32")


def at(line: int, character: int, end_line: int, end_character: int) -> Range:
    return Range(Position(line, character), Position(end_line, end_character))


def follow(documents: Documents, message: Any) -> None:
    """Take a notification of an editor."""
    params = message["params"]
    document = params["textDocument"]
    if message["method"].endswith("didOpen"):
        documents.opened(document["uri"], document["text"], document["version"])
    else:
        changes = tuple(read(change, ContentChange) for change in params["contentChanges"])
        documents.changed(document["uri"], document["version"], changes)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    return path


@pytest.fixture
def documents() -> Documents:
    return Documents()


def opened(documents: Documents, path: Path, text: str | None = None) -> str:
    documents.opened(path.as_uri(), path.read_text() if text is None else text, 1)
    return path.as_uri()


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(start=TEXTS, typed=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), TEXTS), max_size=8))
def test_what_is_typed_is_followed_character_by_character(
    encoding: str, start: str, typed: list[tuple[int, int, str]]
) -> None:
    documents = Documents()
    documents.encoding = encoding
    editor = Buffers(lambda message: follow(documents, message), encoding)
    uri = editor.open(Path("/nowhere/a.txt"), start)
    for begin, length, text in typed:
        first = min(begin, len(editor.text(uri)))
        editor.type(uri, first, min(first + length, len(editor.text(uri))), text)
        document = documents.find(uri)
        assert document
        assert document.text == editor.text(uri)
        assert document.shows(editor.text(uri))


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(old=TEXTS, new=TEXTS)
def test_the_edits_from_one_text_to_another_make_it(encoding: str, old: str, new: str) -> None:
    documents = Documents()
    documents.encoding = encoding
    editor = Buffers(lambda message: follow(documents, message), encoding)
    uri = editor.open(Path("/nowhere/a.txt"), old)
    changes = [{"textDocument": {"uri": uri, "version": 1}, "edits": text_edits(old, new, encoding)}]
    edit = {"label": "", "edit": {"documentChanges": changes}}

    def heard(message: Any) -> None:
        if "id" not in message:
            follow(documents, message)

    editor.send = heard
    editor.receive({"id": 1, "method": "workspace/applyEdit", "params": edit})
    document = documents.find(uri)
    assert editor.text(uri) == new
    assert document
    assert document.text == new


def test_only_lines_that_change_are_edited() -> None:
    old = "".join(f"line {number}\n" for number in range(1000))
    new = old.replace("line 500\n", "another\n")
    place = {"start": {"line": 500, "character": 0}, "end": {"line": 501, "character": 0}}
    assert text_edits(old, new, "utf-16") == [{"range": place, "newText": "another\n"}]


def test_a_column_past_the_line_end_is_its_end_and_never_within_crlf(documents: Documents, file: Path) -> None:
    uri = opened(documents, file, "one\r\ntwo\r\n")
    documents.changed(uri, 2, [ContentChange("!", at(0, 99, 0, 99))])
    document = documents.find(uri)
    assert document
    assert document.text == "one!\r\ntwo\r\n"


def test_versions_may_leave_numbers_out_and_a_whole_text_replaces_all(documents: Documents, file: Path) -> None:
    uri = opened(documents, file)
    documents.changed(uri, 7, [ContentChange("x", at(0, 0, 0, 1)), ContentChange("new\n")])
    assert documents.at(str(file)) is documents.find(uri)
    document = documents.find(uri)
    assert document
    assert document.buffer() == Buffer(str(file), "new\n", 7, is_dirty=True)


@pytest.mark.parametrize(
    ("version", "place"),
    [
        (1, at(0, 0, 0, 0)),
        (0, at(0, 0, 0, 0)),
        (2, at(3, 0, 3, 0)),
        (2, at(0, 0, 99, 0)),
        (2, at(-1, 0, 0, 0)),
        (2, at(0, -1, 0, 0)),
        (2, at(1, 1, 0, 0)),
    ],
)
def test_a_change_that_cannot_be_followed_makes_the_text_unknown_until_it_is_told_again(
    documents: Documents, file: Path, version: int, place: Range, caplog: pytest.LogCaptureFixture
) -> None:
    uri = opened(documents, file)
    with caplog.at_level(logging.WARNING):
        documents.changed(uri, version, [ContentChange("x", place), ContentChange("y", place)])
        documents.changed(uri, 3, [ContentChange("z", at(0, 0, 0, 0))])
    assert len(caplog.records) == 1
    document = documents.find(uri)
    assert document
    assert document.text is None
    assert not document.is_marvins
    with pytest.raises(ToolError, match="closed and opened"):
        document.buffer()
    documents.saved(uri, "one\ntwo\n")
    assert document.buffer() == Buffer(str(file), "one\ntwo\n", 3, is_dirty=False)


def test_what_is_not_open_is_passed_over_with_a_line_in_the_log(
    documents: Documents, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents.changed(file.as_uri(), 2, [ContentChange("x")])
    documents.saved(file.as_uri(), None)
    documents.closed(file.as_uri())
    assert (len(caplog.records), documents.all) == (2, ())


def test_a_file_has_one_document_however_its_uri_is_spelled(documents: Documents, tmp_path: Path) -> None:
    folder = tmp_path / "my grüße"
    folder.mkdir()
    (folder / "a b#1.txt").write_text("x\n")
    (tmp_path / "link").symlink_to(folder)
    through_link = f"file://{quote(str(tmp_path))}/link/a%20b%231.txt"
    documents.opened(through_link, "y\n", 1)
    documents.changed(through_link.replace("%20", " "), 2, [ContentChange("z\n")])
    document = documents.at(str(folder / "a b#1.txt"))
    assert document
    assert document.text == "z\n"
    assert documents.find((folder / "a b#1.txt").as_uri()) is document
    documents.closed(through_link)
    assert documents.all == ()


def test_documents_that_are_no_files_are_kept_and_are_no_buffers(documents: Documents) -> None:
    documents.opened("untitled:Untitled-1", "x", 1)
    documents.opened("file://elsewhere/a.txt", "x", 1)
    assert [document.text for document in documents.all] == ["x", "x"]
    assert [document.buffer() for document in documents.all] == [None, None]


def test_a_text_is_dirty_while_it_is_not_that_of_the_file(documents: Documents, file: Path) -> None:
    uri = opened(documents, file)
    document = documents.find(uri)
    assert document
    assert not document.is_dirty
    documents.changed(uri, 2, [ContentChange("x\n")])
    assert document.is_dirty
    file.write_text("x\n")
    documents.saved(uri, None)
    assert not document.is_dirty
    documents.changed(uri, 3, [ContentChange("y\n")])
    documents.changed(uri, 4, [ContentChange("x\n")])
    assert not document.is_dirty


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "one\r\ntwo\r\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        ("é\n".encode("latin-1"), "é\n"),
        ("é\n".encode("utf-16"), "é\n"),
    ],
)
def test_encoding_mark_and_line_ends_of_the_file_make_no_text_dirty(
    documents: Documents, file: Path, content: bytes, text: str
) -> None:
    file.write_bytes(content)
    documents.opened(file.as_uri(), text, 1)
    document = documents.find(file.as_uri())
    assert document
    assert not document.is_dirty


def test_a_file_that_changed_beneath_a_clean_text_is_read_from_disk_until_the_editor_shows_it(
    documents: Documents, file: Path
) -> None:
    uri = opened(documents, file)
    document = documents.find(uri)
    assert document
    file.write_text("three\n")
    assert not document.look(on_disk.look(str(file)))
    assert (document.is_behind, document.is_dirty, document.buffer()) == (True, False, None)
    documents.changed(uri, 2, [ContentChange("three\n")])
    assert document.buffer() == Buffer(str(file), "three\n", 2, is_dirty=False)


def test_a_file_that_changed_beneath_unsaved_changes_is_news_once(documents: Documents, file: Path) -> None:
    document = documents.find(opened(documents, file, "mine\n"))
    assert document
    news: list[bool] = []
    for found in ("three\n", "three\n", None, "mine\n"):
        if found is None:
            file.unlink()
        else:
            file.write_text(found)
        news.append(document.look(on_disk.look(str(file))))
    assert news == [True, False, True, False]
    assert not document.is_dirty


@pytest.mark.parametrize(("text", "saved"), [("one\ntwo", "one\ntwo\n"), ("\n", "")])
def test_a_last_line_end_that_the_editor_keeps_apart_from_the_text_makes_it_neither_dirty_nor_stale(
    documents: Documents, file: Path, text: str, saved: str
) -> None:
    uri = opened(documents, file)
    documents.changed(uri, 2, [ContentChange(text)])
    file.write_text(saved)
    documents.saved(uri, text)
    document = documents.find(uri)
    assert document
    assert document.buffer() == Buffer(str(file), text, 2, is_dirty=False)
    documents.changed(uri, 3, [ContentChange(f"{text}x")])
    assert document.is_dirty
    documents.opened(uri, text, 4)
    reopened = documents.find(uri)
    assert reopened
    assert not reopened.is_dirty


def test_of_two_documents_of_one_file_the_unsaved_one_counts_and_two_that_differ_are_refused(
    documents: Documents, file: Path
) -> None:
    link = file.with_name("link.txt")
    link.symlink_to(file)
    documents.opened(file.as_uri(), "mine\n", 1)
    documents.opened(link.as_uri(), "one\ntwo\n", 1)
    assert documents.at(str(file)) is documents.all[0]
    documents.changed(file.as_uri(), 2, [ContentChange("one\ntwo\n")])
    assert documents.at(str(file)) is documents.all[1]
    documents.changed(file.as_uri(), 3, [ContentChange("mine\n")])
    documents.changed(link.as_uri(), 2, [ContentChange("theirs\n")])
    with pytest.raises(ToolError, match=r"a\.txt and .*link\.txt\. Ask the person to save or close one"):
        documents.at(str(file))


def test_changes_are_marvins_until_the_person_types(documents: Documents, file: Path) -> None:
    uri = opened(documents, file)
    document = documents.find(uri)
    assert document
    documents.changed(uri, 2, [ContentChange("Marvin's\n")])
    document.edited("one\ntwo\n")
    assert document.is_marvins
    documents.changed(uri, 3, [ContentChange("Marvin's\nmine\n")])
    assert not document.is_marvins
    documents.changed(uri, 4, [ContentChange("Marvin's\nmine\nMarvin's\n")])
    document.edited("Marvin's\nmine\n")
    assert not document.is_marvins
    documents.changed(uri, 5, [ContentChange("one\ntwo\n")])
    assert not document.is_marvins
