"""Listings show what matters, in one stable order, whatever the names and permissions are."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server.errors import PathRefused, ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.listing import top_level, tree, walk


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


@pytest.fixture
def open_root() -> Iterator[Root]:
    """A root whose path anybody may pass through."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Root(Path(folder))


def fill(root: Root, *paths: str) -> None:
    for path in paths:
        file = root.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def test_a_walk_yields_files_in_order_and_leaves_out_what_git_ignores(root: Root) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=root.path, check=True)
    fill(root, "b.txt", "a/z", "a/b/c", "a.txt", ".hidden/x", "build/out", "a/debug.log", "a/kept.log", ".tickets/one")
    fill(root, "nested/.git/config", "nested/own.log")
    (root.path / ".gitignore").write_text("build/\n*.log\n")
    (root.path / "a/.gitignore").write_text("!kept.log\n")

    assert list(walk(root)) == [
        *(".gitignore", ".hidden/x", "a/.gitignore", "a/b/c", "a/kept.log", "a/z", "a.txt", "b.txt", "nested/own.log")
    ]
    assert list(walk(root, "a/b/..")) == ["a/.gitignore", "a/b/c", "a/kept.log", "a/z"]


def test_links_and_devices_are_not_walked(root: Root) -> None:
    fill(root, "a/file")
    (root.path / "folder").symlink_to("a")
    (root.path / "file").symlink_to("a/file")
    (root.path / "out").symlink_to("/")
    os.mkfifo(root.path / "pipe")
    assert list(walk(root)) == ["a/file"]
    assert list(walk(root, "folder")) == ["a/file"]
    with pytest.raises(PathRefused):
        walk(root, "out")


@pytest.mark.parametrize(("path", "why"), [("missing", "No such file"), ("file", "Not a directory")])
def test_only_folders_can_be_walked(root: Root, path: str, why: str) -> None:
    fill(root, "file")
    with pytest.raises(ToolError, match=f"'{path}' cannot be listed: {why}"):
        walk(root, path)
    assert top_level(root, path) == "  (cannot be listed)"


def test_names_that_are_no_text_are_listed_with_escapes(root: Root) -> None:
    fill(root, "a/fine", os.fsdecode(b"a/caf\xe9"), "two\nlines")
    assert list(walk(root)) == ["a/caf\udce9", "a/fine", "two\nlines"]
    assert tree(root) == "a/\n  caf\\xe9\n  fine\ntwo\\nlines"
    assert top_level(root, "a") == "  caf\\xe9\n  fine"


def test_a_folder_that_cannot_be_read_does_not_stop_a_listing(open_root: Root) -> None:
    fill(open_root, "closed/inside", os.fsdecode(b"closed/\xff"), "a", os.fsdecode(b"\xff"), "z/file")
    (open_root.path / "closed").chmod(0)
    is_super_user = os.geteuid() == 0
    if is_super_user:
        os.seteuid(65534)
    try:
        assert list(walk(open_root)) == ["a", "z/file", "\udcff"]
        assert tree(open_root) == "closed/\nz/\n  file\na\n\\xff"
        assert top_level(open_root, "closed") == "  (cannot be listed)"
    finally:
        if is_super_user:
            os.seteuid(0)
        (open_root.path / "closed").chmod(0o700)


def test_a_tree_deeper_than_any_path_is_listed_as_far_as_paths_reach(root: Root) -> None:
    program = (
        "import os\nfor _ in range(60):\n    os.mkdir('d' * 99)\n    os.chdir('d' * 99)\nopen('bottom', 'w').close()"
    )
    subprocess.run([sys.executable, "-c", program], cwd=root.path, check=True)
    fill(root, "file")
    try:
        assert list(walk(root)) == ["file"]
        assert tree(root, depth=2) == f"{'d' * 99}/\n  {'d' * 99}/ (1 entry)\nfile"
    finally:
        subprocess.run(["rm", "-rf", "d" * 99], cwd=root.path, check=True)


def test_a_tree_shows_folders_first_and_counts_what_it_leaves_out(root: Root) -> None:
    fill(root, "README", "src/main.py", "src/lib/a.py", "src/lib/b.py", "docs/one")
    (root.path / "empty").mkdir()
    assert tree(root) == ("docs/\n  one\nempty/\nsrc/\n  lib/\n    a.py\n    b.py\n  main.py\nREADME")
    assert tree(root, depth=1) == "docs/ (1 entry)\nempty/\nsrc/ (2 entries)\nREADME"
    assert tree(root, "src", depth=1) == "lib/ (2 entries)\nmain.py"
    assert tree(root, limit=7) == "docs/\n  one\nempty/\nsrc/\n  lib/ (2 entries)\n  main.py\nREADME"
    assert tree(root, limit=3) == "docs/ (1 entry)\nempty/\nsrc/ (2 entries)\n… 1 more entry"
    assert tree(root, "empty") == "(empty)"


def test_the_short_listing_has_ignored_files_too_and_is_cut(root: Root) -> None:
    fill(root, "b", "a", "z/inside", ".gitignore", ".git/config", ".tickets/one")
    (root.path / "link").symlink_to("z")
    (root.path / ".gitignore").write_text("a\n")
    assert top_level(root) == "  z/\n  .gitignore\n  a\n  b\n  link"
    assert top_level(root, limit=2) == "  z/\n  .gitignore\n  … 3 more"
    (root.path / "empty").mkdir()
    assert top_level(root, "empty") == "  (empty)"
