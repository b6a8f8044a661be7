"""Paths as a model writes them, the working directory, and what a permission opens."""

import os
from pathlib import Path

import pytest

from marvin_server.errors import PathRefused, PermissionNeeded, ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A root folder with a neighbour."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_names_in_a_workspace_are_relative_to_its_working_directory(project: Path) -> None:
    (project / "sub/deep").mkdir(parents=True)
    workspace = Workspace(Root(project))
    workspace.set_working_dir("sub")
    view = workspace.permitting("x")
    (project / "sub/file").write_text("text")
    assert (workspace.working_dir, view.working_dir, view.directory) == ("sub", "sub", project / "sub")
    assert [view.locate(path) for path in ("file", "./deep/../file", "../top", f"{project}/abs", "", "..")] == [
        "sub/file",
        "sub/file",
        "top",
        "abs",
        "sub",
        ".",
    ]
    assert view.read("file") == documents.read(Root(project), "sub/file")
    fd = view.directory_fd()
    assert os.path.samestat(os.fstat(fd), (project / "sub").stat())
    os.close(fd)


@pytest.mark.parametrize("path", ["a/../../x", "../outside/secret", "/etc/passwd", "~/x", "~root", "a\0b", "x" * 300])
def test_a_refused_name_tells_where_one_is_and_what_is_there(project: Path, path: str) -> None:
    (project / "a").mkdir()
    (project / "file").touch()
    with pytest.raises(PathRefused) as caught:
        Workspace(Root(project)).read(path)
    assert str(caught.value).endswith(f" Working dir: {project}. Directory contents:\n  a/\n  file")


def test_errors_name_paths_so_that_they_can_be_used_from_the_working_directory(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub/file").touch()
    workspace = Workspace(Root(project))
    workspace.set_working_dir("sub")
    with pytest.raises(ToolError) as caught:
        workspace.read("no")
    assert str(caught.value) == (
        "File not found: 'sub/no'. Files in 'sub':\n  file\n"
        f"(Named from {project}; the working directory is 'sub' in it.)"
    )


def test_an_absolute_path_through_a_link_to_the_root_is_inside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(project)
    workspace = Workspace(Root(tmp_path / "alias"))
    assert (workspace.locate(f"{tmp_path}/alias/file"), workspace.locate(f"{project}/file")) == ("file", "file")


def test_the_root_moves_only_to_the_very_folder_that_was_permitted(project: Path) -> None:
    outside = project.parent / "outside"
    workspace = Workspace(Root(project))
    with pytest.raises(PermissionNeeded) as caught:
        workspace.set_working_dir("../outside")
    assert (caught.value.kind, caught.value.path) == ("outside_path", os.fspath(outside))
    with pytest.raises(PermissionNeeded):
        workspace.permitting(os.fspath(project.parent)).set_working_dir("../outside")
    assert workspace.root.path == project

    workspace.permitting(caught.value.path).set_working_dir("../outside")
    assert (workspace.root.path, workspace.working_dir) == (outside, ".")
    assert workspace.read("secret").text == "secret"


@pytest.mark.parametrize("path", ["missing", "file", "../missing", "~"])
def test_the_working_directory_stays_when_the_new_one_is_no_folder(project: Path, path: str) -> None:
    (project / "file").touch()
    workspace = Workspace(Root(project))
    with pytest.raises(ToolError):
        workspace.set_working_dir(path)
    assert workspace.working_dir == "."


def test_a_permitted_view_reads_the_protected_file_and_the_workspace_still_asks(project: Path) -> None:
    (project / ".env").write_text("KEY=1")
    workspace = Workspace(Root(project))
    assert workspace.permitting(".env").read(".env").text == "KEY=1"
    with pytest.raises(PermissionNeeded):
        workspace.read(".env")


def test_a_view_may_use_every_path_that_was_permitted_on_the_way_to_it(project: Path) -> None:
    for name in (".env", ".env.local"):
        (project / name).write_text(f"NAME={name}")
    view = Workspace(Root(project)).permitting(".env").permitting(".env.local")
    assert [view.read(name).text for name in (".env", ".env.local")] == ["NAME=.env", "NAME=.env.local"]
