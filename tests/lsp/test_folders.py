"""Where a document is, and which folder it belongs to."""

from pathlib import Path

import pytest

from marvin_server.errors import UsageError
from marvin_server.lsp import folders, uris


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("file:///a/b.py", "/a/b.py"),
        ("file:/a/b.py", "/a/b.py"),
        ("FILE:///a/b.py", "/a/b.py"),
        ("file://localhost/a/b.py", "/a/b.py"),
        ("file:///a/%3F%23%20b", "/a/?# b"),
        ("file:///a/../b", "/b"),
    ],
)
def test_a_file_of_this_machine_has_a_path(uri: str, file: str) -> None:
    assert (folders.path(uri), uris.real_path(uri)) == (Path(file), file)


@pytest.mark.parametrize(
    "uri",
    [
        *("", "a", "untitled:1", "http://localhost/a", "file://nas/share", "file://[::1", "file://[::1]/a", "file:"),
        *("file:///a?b", "file:///a#b", "file:///a?", "file:///a%00b"),
    ],
)
def test_what_is_no_file_of_this_machine_is_refused(uri: str) -> None:
    assert uris.real_path(uri) is None
    with pytest.raises(UsageError):
        folders.path(uri)


def test_the_innermost_folder_of_the_workspace_is_taken(tmp_path: Path) -> None:
    inner, outer = tmp_path / "a" / "b", tmp_path / "a"
    assert folders.folder(inner / "x.py", [outer, inner]) == inner
    assert folders.folder(outer / "x.py", [inner, outer]) == outer


def test_no_file_moves_the_root_to_where_it_is(tmp_path: Path) -> None:
    assert folders.folder(tmp_path / "x.py", [tmp_path / "a", tmp_path / "b"]) == tmp_path / "a"
    for file in (Path("/etc/x"), None):
        assert folders.folder(file, []) == Path.cwd()
