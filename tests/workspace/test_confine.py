"""Nothing leaves the root: the same hazards for both ways of opening a path beneath it."""

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import PathRefused, PermissionNeeded, ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root
from marvin_server.workspace.names import printable, protection
from tests.workspace.openers import OPENERS
from tests.workspace.writing import append, create

SWAP_FOLDER = """
import contextlib, itertools, os, sys
print("ready", flush=True)
for number in itertools.count():
    with contextlib.suppress(OSError):
        os.rename("swapped", "away")
    with contextlib.suppress(OSError):
        os.symlink(sys.argv[1], "swapped")
    with contextlib.suppress(OSError):
        os.unlink("swapped")
    try:
        os.rename("away", "swapped")
    except OSError:
        os.rename("swapped", f"made{number}")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A root folder with a neighbour that nobody may touch."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def root(request: pytest.FixtureRequest, project: Path) -> Root:
    return Root(project, request.param)


@contextmanager
def unprivileged() -> Generator[None]:
    """Permission bits count for the super-user too while the block runs."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def content(root: Root, path: str) -> bytes:
    return documents.read_bytes(root, path)


def test_a_file_opens_through_dots_and_relative_links_that_stay_inside(root: Root, project: Path) -> None:
    (project / "a/b").mkdir(parents=True)
    (project / "a/file").write_text("here")
    (project / "a/b/up").symlink_to("../file")
    (project / "folder").symlink_to("a/b")

    paths = ["a/file", "./a//file", "a/b/../file", "a/b/up", "folder/up", "folder/../file"]
    assert [content(root, path) for path in paths] == [b"here"] * len(paths)
    assert [root.place(path) for path in paths] == ["a/file"] * len(paths)
    assert root.place(".") == root.place("a/..") == "."


@pytest.mark.parametrize("path", ["../outside/secret", "a/../../outside/secret", "..", "/etc/passwd"])
def test_a_path_that_leads_out_is_refused(root: Root, project: Path, path: str) -> None:
    (project / "a").mkdir()
    with pytest.raises(PathRefused):
        root.open(path)
    with pytest.raises(PathRefused):
        root.open(path, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(PathRefused):
        root.stat(path)
    with pytest.raises(PathRefused):
        root.make_directory(path)


@pytest.mark.parametrize("target", ["../outside", "a/../../outside", "/"])
def test_a_link_that_leads_out_is_refused(root: Root, project: Path, target: str) -> None:
    (project / "a").mkdir()
    (project / "link").symlink_to(target)
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(PathRefused, match=r"'link/secret' leads out of the workspace"):
            root.open("link/secret", flags)
    with pytest.raises(PathRefused):
        root.make_directory("link/new/folder")
    assert sorted(path.name for path in (project.parent / "outside").iterdir()) == ["secret"]


def test_an_absolute_link_is_refused_even_when_it_points_inside(root: Root, project: Path) -> None:
    (project / "file").write_text("here")
    (project / "link").symlink_to(project / "file")
    with pytest.raises(PathRefused, match="absolute symbolic links"):
        root.open("link")


def test_a_loop_of_links_is_refused(root: Root, project: Path) -> None:
    (project / "one").symlink_to("two")
    (project / "two").symlink_to("one")
    with pytest.raises(PathRefused, match="loop of symbolic links"):
        root.open("one")


def test_forty_links_are_followed_and_forty_one_are_not(root: Root, project: Path) -> None:
    (project / "0").write_text("end")
    for number in range(1, 42):
        (project / str(number)).symlink_to(str(number - 1))
    assert content(root, "40") == b"end"
    with pytest.raises(PathRefused):
        root.open("41")


@pytest.mark.parametrize(
    ("path", "why"),
    [("a\0b", "NUL"), ("x" * 256, "too long"), ("a/" * 2048 + "a", "too long"), ("\ud800", "no file name can")],
)
def test_what_no_file_can_be_called_is_refused(root: Root, path: str, why: str) -> None:
    with pytest.raises(PathRefused, match=why):
        root.open(path)


def test_a_name_with_a_newline_is_a_name_and_is_shown_on_one_line(root: Root, project: Path) -> None:
    (project / "two\nlines").write_text("fine")
    assert content(root, "two\nlines") == b"fine"
    with pytest.raises(ToolError, match=r"'no\\nlines'"):
        documents.read(root, "no\nlines")


def test_pipes_devices_and_sockets_are_refused_without_waiting(root: Root, project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "null").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(project / "socket"))
        for path in ("pipe", "null", "socket"):
            for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
                with pytest.raises(PathRefused, match="is a device, pipe or socket"):
                    root.open(path, flags)


def test_a_file_that_became_a_pipe_is_not_waited_for(root: Root, project: Path) -> None:
    (project / "file").write_text("text")
    document = documents.read(root, "file")
    (project / "file").unlink()
    os.mkfifo(project / "file")
    with pytest.raises(PathRefused, match="is a device, pipe or socket"):
        documents.write(root, document, "new")


def test_an_opened_file_blocks_as_usual_and_closes_on_exec(root: Root, project: Path) -> None:
    (project / "file").write_text("text")
    fd = root.open("file")
    try:
        assert (os.get_blocking(fd), os.get_inheritable(fd)) == (True, False)
    finally:
        os.close(fd)


def test_opening_can_make_and_empty_a_file(root: Root, project: Path) -> None:
    os.close(root.open("new", os.O_WRONLY | os.O_CREAT, 0o600))
    assert (project / "new").stat().st_mode & 0o777 == 0o600
    (project / "new").write_text("text")
    os.close(root.open("new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    assert (project / "new").read_text() == ""


def test_a_link_that_leads_nowhere_makes_no_file(root: Root, project: Path) -> None:
    (project / "link").symlink_to("missing")
    with pytest.raises(FileExistsError):
        root.open("link", os.O_WRONLY | os.O_CREAT)
    assert not (project / "missing").exists()


def test_folders_are_made_with_those_above(root: Root, project: Path) -> None:
    root.make_directory("a/b/c")
    root.make_directory("a/b/c")
    assert (project / "a/b/c").is_dir()
    (project / "file").touch()
    with pytest.raises(NotADirectoryError):
        root.make_directory("file/d")


def test_a_very_deep_path_opens(root: Root, project: Path) -> None:
    folder = project
    for _ in range(1500):
        folder /= "d"
        folder.mkdir()
    try:
        assert root.place("d/" * 1500 + "..") == "/".join(["d"] * 1499)
    finally:
        # pytest could not: it removes what is left of a test by recursion.
        subprocess.run(["rm", "-rf", project / "d"], check=True)


def test_replacing_keeps_mode_and_link_and_leaves_nothing_behind(root: Root, project: Path) -> None:
    (project / "a").mkdir()
    (project / "a/script").write_text("old")
    (project / "a/script").chmod(0o754)
    (project / "link").symlink_to("a/script")
    fd = root.open("link", os.O_RDWR)
    root.replace("link", fd, b"new")
    os.close(fd)
    assert (project / "link").is_symlink()
    assert (project / "a/script").read_text() == "new"
    assert (project / "a/script").stat().st_mode & 0o7777 == 0o754
    assert [path.name for path in (project / "a").iterdir()] == ["script"]


def test_replacing_stops_when_the_path_leads_to_another_file_by_now(root: Root, project: Path) -> None:
    (project / "file").write_text("old")
    fd = root.open("file", os.O_RDWR)
    (project / "other").write_text("other")
    (project / "other").rename(project / "file")
    with pytest.raises(FileNotFoundError):
        root.replace("file", fd, b"new")
    os.close(fd)
    assert {path.name: path.read_text() for path in project.iterdir()} == {"file": "other"}


def test_nothing_outside_changes_while_a_folder_is_swapped_for_a_link(root: Root, project: Path) -> None:
    outside = project.parent / "outside"
    (outside / "file").write_text("untouched")
    (project / "swapped").mkdir()
    (project / "swapped/file").write_text("0")
    refused = written = 0
    with subprocess.Popen(
        [sys.executable, "-c", SWAP_FOLDER, os.fspath(outside)], cwd=project, stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        try:
            deadline = time.monotonic() + 5
            for number in itertools.count():
                if (written > 300 and refused > 100) or (written and refused and time.monotonic() > deadline):
                    break
                with suppress(OSError):
                    try:
                        os.close(root.open(f"swapped/{number % 50}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
                        written += 1
                    except PathRefused:
                        refused += 1
                with suppress(ToolError):
                    assert "untouched" not in append(root, "swapped/file", ".")
                with suppress(ToolError, OSError):
                    root.make_directory(f"swapped/folder{number % 50}")
        finally:
            swapper.kill()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": "untouched", "secret": "secret"}
    assert written > 0
    assert refused > 0


def test_a_folder_without_permission_is_an_error_of_the_system(root: Root, project: Path) -> None:
    (project / "closed").mkdir()
    (project / "closed/file").write_text("text")
    (project / "closed").chmod(0)
    project.chmod(0o755)
    with unprivileged(), pytest.raises(PermissionError):
        root.open("closed/file")
    with unprivileged(), pytest.raises(ToolError, match="Permission denied reading 'closed/file'"):
        documents.read(root, "closed/file")
    (project / "closed").chmod(0o700)


@pytest.mark.parametrize("path", [".env", "sub/.env", ".ENV", ".env.local"])
def test_reading_secrets_asks(root: Root, project: Path, path: str) -> None:
    (project / "sub").mkdir()
    (project / path).write_text("KEY=1")
    with pytest.raises(PermissionNeeded) as caught:
        root.open(path)
    needed = caught.value
    assert (needed.kind, needed.path, needed.reason) == ("protected_path", path, "it may hold secrets")
    reading = root.permitting(path, writing=False)
    assert content(root.permitting(path), path) == content(reading, path) == b"KEY=1"
    with pytest.raises(PermissionNeeded):
        reading.open(path, os.O_WRONLY)
    with pytest.raises(PermissionNeeded):
        reading.rename(path, "public.txt")


@pytest.mark.parametrize(
    "path",
    [
        *(".env", ".Env.production", ".git/config", "sub/.GIT/hooks/pre-commit", ".marvin/config.yaml"),
        *(".marvin/tools/x.py", ".claude/settings.json", ".codex/config.toml", ".cursor/mcp.json"),
        *(".aider.conf.yml", ".gemini/settings.json", ".opencode/x", ".continue/config.yaml"),
        *(".github/copilot-instructions.md", ".mcp.json", ".config/marvin/config.yaml"),
        *(".vscode/settings.json", "sub/.vscode/tasks.json", ".vscode/x/y", "shop.code-workspace", ".code-workspace"),
        *(".nvim.lua", ".exrc", "sub/.nvimrc", ".dir-locals.el", ".dir-locals-2.el", ".devcontainer/x", ".idea/y"),
    ],
)
def test_writing_protected_names_asks_before_anything_is_made(root: Root, project: Path, path: str) -> None:
    with pytest.raises(PermissionNeeded) as caught:
        create(root, path, "text")
    assert (caught.value.path, list(project.iterdir())) == (path, [])

    create(root.permitting(path), path, "text")
    assert (project / path).read_text() == "text"
    with pytest.raises(PermissionNeeded):
        root.open(path, os.O_WRONLY | os.O_TRUNC)
    with pytest.raises(PermissionNeeded):
        root.permitting(f"{path}.other").open(path, os.O_WRONLY | os.O_TRUNC)
    assert (project / path).read_text() == "text"


@pytest.mark.parametrize(
    "path",
    [
        *(".GIT/config", ".g\u200cit/config", ".gi\ufefft/config", "\u206a.git/config", ".git /config", ".git./config"),
        *(".git. . ./config", "git~1/config", "GIT~1/config", "gi7eba~1/config", ".git::$INDEX_ALLOCATION/config"),
        *("sub\\.git\\config", "sub/x\\..\\.git/config", ".\uff47it/config", "GITHUB~1/COPILO~1.MD"),
        *("MARVIN~1/config.yaml", ".marvin/notes\\..\\config.yaml", ".Mar\u200dvin/hooks", "CLAUDE~1/settings.json"),
        *(".claude\u200e/settings.json", ".codex:x", "CLAUDE~1.JSO", ".\u212airo/settings.json"),
        *(".VSCode/settings.json", "VSCODE~1/tasks.json", "Shop.Code-Workspace ", "SHOP~1.COD"),
        *(".env::$DATA", ".ENV ", "ENV~1", "env~1.loc", ".e\u202env", ".env.local.", ".envrc", ".marvin-instructions"),
    ],
)
def test_a_spelling_that_another_file_system_folds_is_protected_too(root: Root, project: Path, path: str) -> None:
    with pytest.raises(PermissionNeeded):
        root.open(path, os.O_WRONLY | os.O_CREAT)
    with pytest.raises(PermissionNeeded):
        root.remove(path)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    "path", ["AGENTS.md", ".env.example", ".gitignore", ".marvin/notes/x.md", ".marvin/.gitignore"]
)
def test_ordinary_names_are_written_without_a_question(root: Root, path: str) -> None:
    create(root, path, "text")


def test_reading_configuration_asks_nothing(root: Root, project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git/config").write_text("[core]")
    assert content(root, ".git/config") == b"[core]"


def test_a_link_to_a_protected_file_asks_for_the_file(root: Root, project: Path) -> None:
    (project / ".env").write_text("KEY=1")
    (project / "notes.txt").symlink_to(".env")
    (project / ".git").mkdir()
    (project / "innocent").symlink_to(".git")
    for path, flags, asked in [
        ("notes.txt", os.O_RDONLY, ".env"),
        ("notes.txt", os.O_WRONLY | os.O_TRUNC, ".env"),
        ("innocent/config", os.O_WRONLY | os.O_CREAT, ".git/config"),
    ]:
        with pytest.raises(PermissionNeeded) as caught:
            root.open(path, flags)
        assert caught.value.path == asked
    assert (project / ".env").read_text() == "KEY=1"
    assert content(root.permitting(".env"), "notes.txt") == b"KEY=1"


def test_a_protected_name_that_is_a_link_asks_once(root: Root, project: Path) -> None:
    (project / ".env").symlink_to(".env.local")
    (project / ".env.local").write_text("KEY=1")
    with pytest.raises(PermissionNeeded) as caught:
        root.open(".env")
    assert content(root.permitting(caught.value.path), ".env") == b"KEY=1"

    (project / ".envs").mkdir()
    (project / ".envs/plain").write_text("KEY=2")
    (project / ".env.local").unlink()
    (project / ".env.local").symlink_to(".envs/plain")
    with pytest.raises(PermissionNeeded) as caught:
        root.open(".env.local")
    assert content(root.permitting(caught.value.path), ".env.local") == b"KEY=2"


def test_tickets_are_refused_existing_or_not(root: Root, project: Path) -> None:
    (project / "link").symlink_to(".tickets")
    for made in (False, True):
        if made:
            (project / ".tickets").mkdir()
            (project / ".tickets/one").write_text("text")
        spellings = (".tickets/one", ".Tickets/one", ".tickets", ".tick\u200cets/one", "TICKET~1/one", ".tickets./one")
        for path in (*spellings, *(["link/one"] if made else [])):
            for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
                with pytest.raises(PathRefused, match="use the tk tool"):
                    root.permitting(path).open(path, flags)


@given(st.text(max_size=30))
def test_any_name_is_judged_and_shown_on_one_printable_line(name: str) -> None:
    assert printable(name).isprintable()
    if protection(name, writing=False):
        assert protection(name, writing=True)


@given(
    st.sampled_from([".git/config", ".env", ".marvin/config.yaml", ".claude/x", ".github/copilot-instructions.md"]),
    st.data(),
)
def test_no_mix_of_case_ignorable_characters_and_endings_hides_a_protected_name(path: str, data: st.DataObject) -> None:
    ignorable = st.sampled_from(["", "", "\u200c", "\u200f", "\u202e", "\u206f", "\ufeff"])
    ending = st.sampled_from(["", ".", " ", ". .", "::$DATA"])
    disguised = "/".join(
        "".join(data.draw(st.sampled_from([char, char.upper()])) + data.draw(ignorable) for char in name)
        + data.draw(ending)
        for name in path.split("/")
    )
    assert protection(disguised, writing=True) == protection(path, writing=True)


@given(st.lists(st.sampled_from(["..", ".", "", "a", "b", "up", "out", "loop"]), max_size=8))
def test_both_ways_of_opening_agree(parts: list[str]) -> None:
    path = "/".join(parts)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        (project / "a/b").mkdir(parents=True)
        (project / "b").write_text("file")
        (project / "a/up").symlink_to("../b")
        (project / "a/b/out").symlink_to("../../..")
        (project / "loop").symlink_to("loop")
        (project / "up").symlink_to("a/b/..")
        assert len({_outcome(Root(project, opener), path) for opener in OPENERS}) == 1


def _outcome(root: Root, path: str) -> str:
    try:
        return root.place(path)
    except (OSError, ToolError) as error:
        return f"{type(error).__name__}: {error}"


def test_a_closed_root_opens_nothing(project: Path) -> None:
    root = Root(project)
    view = root.permitting("x")
    root.close()
    root.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        view.open(".")
