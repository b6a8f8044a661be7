"""Changes to several files happen all or not at all, whatever goes wrong on the way."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from marvin_server.errors import PermissionNeeded, ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root
from tests.patience import SECONDS

CHANGE = """
import pathlib, sys
from marvin_server.errors import ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root

root = Root(pathlib.Path(sys.argv[1]))
size = int(sys.argv[2])
read = {name: documents.read(root, name) for name in ("a", "sub/b", "gone", "old")}
changes = [
    Change("a", read["a"], "A" * size),
    Change("sub/b", read["sub/b"], "B" * size),
    Change("gone", read["gone"], None),
    Change("old", read["old"], "moved" * size, move_to="deep/er/new"),
    Change("made/file", None, "made" * size),
]
"""
APPLY = f"{CHANGE}\nstage(root, changes).commit()\nprint('done')\n"
TRY = f"""{CHANGE}
if len(sys.argv) > 3:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    stage(root, changes).commit()
except ToolError as error:
    print(error)
"""
BEFORE = {"a": "1\n", "sub/b": "2\n", "gone": "3\n", "old": "4\n"}
AFTER = {"a": "A" * 9, "sub/b": "B" * 9, "deep/er/new": "moved" * 9, "made/file": "made" * 9}
CALLS = ("write", "fsync", "fchmod", "mkdir,mkdirat", "link,linkat", "rename,renameat,renameat2", "unlink,unlinkat")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    fill(tmp_path)
    return Root(tmp_path)


def fill(folder: Path) -> None:
    for name, text in BEFORE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def change(
    root: Root, path: str, text: str | None, move_to: str | None = None, executable: bool | None = None
) -> Change:
    document = documents.read(root, path) if root.exists(path) else None
    return Change(path, document, text, move_to, executable)


def run(script: str, *arguments: str, before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    argv = [*before, sys.executable, "-c", script, *arguments]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False, env=environ)


def test_all_changes_are_made_and_nothing_else_is_left(root: Root) -> None:
    run(APPLY, str(root.path), "9")
    assert files(root.path) == AFTER


def test_modes_encodings_and_marks_are_kept(root: Root) -> None:
    (root.path / "a").write_bytes("\ufeffé\r\n".encode("utf-16-le"))
    (root.path / "a").chmod(0o640)
    (root.path / "old").chmod(0o750)
    stage(root, [change(root, "a", "è\r\n"), change(root, "old", "5\n", move_to="new")]).commit()
    assert (root.path / "a").read_bytes() == "\ufeffè\r\n".encode("utf-16-le")
    assert [(root.path / name).stat().st_mode & 0o777 for name in ("a", "new")] == [0o640, 0o750]


def test_execution_is_allowed_to_whoever_may_read_and_taken_from_all(root: Root) -> None:
    (root.path / "a").chmod(0o640)
    (root.path / "old").chmod(0o755)
    stage(root, [change(root, "a", "1\n", executable=True), change(root, "old", "4\n", executable=False)]).commit()
    stage(root, [change(root, "n", "5\n", executable=True)]).commit()
    assert [oct((root.path / name).stat().st_mode & 0o777) for name in ("a", "old")] == ["0o750", "0o644"]
    assert os.access(root.path / "n", os.X_OK)


def test_a_new_file_has_the_mode_of_new_files(root: Root) -> None:
    stage(root, [change(root, "n", "1\n")]).commit()
    (root.path / "ours").touch()
    assert (root.path / "n").stat().st_mode == (root.path / "ours").stat().st_mode


def test_a_file_behind_a_symbolic_link_changes_and_the_link_stays(root: Root) -> None:
    (root.path / "link").symlink_to("sub/b")
    stage(root, [change(root, "link", "new\n")]).commit()
    assert (root.path / "link").is_symlink()
    assert (root.path / "sub" / "b").read_text() == "new\n"


def test_all_names_of_a_file_see_the_change_and_a_failure_takes_it_back(root: Root) -> None:
    (root.path / "other").hardlink_to(root.path / "a")
    stage(root, [change(root, "a", "new\n")]).commit()
    assert (root.path / "other").read_text() == "new\n"
    stale = change(root, "sub/b", "x\n")
    (root.path / "sub" / "b").write_text("theirs\n")
    with pytest.raises(ToolError, match="has changed on disk"):
        stage(root, [change(root, "a", "newer\n"), stale]).commit()
    assert (root.path / "other").read_text() == "new\n"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("echo theirs > old", "'old' has changed on disk"),
        ("rm old", "File not found: 'old'"),
        ("touch made", "a part of its path is a file"),
        ("mkdir made; touch made/file", "already exists: 'made/file'"),
        ("mkdir deep; ln -s nowhere deep/er", "'deep/er/new'"),
        ("mkdir made; ln -s nowhere made/file", "'made/file' is a symbolic link"),
    ],
)
def test_what_does_not_fit_any_more_changes_nothing(root: Root, spoil: str, message: str) -> None:
    changes = [
        change(root, "a", "A\n"),
        change(root, "gone", None),
        change(root, "made/file", "n\n"),
        change(root, "old", "o\n", move_to="deep/er/new"),
    ]
    subprocess.run(["sh", "-c", spoil], cwd=root.path, check=True)
    before = names(root.path), files(root.path)
    with pytest.raises(ToolError, match=message):
        stage(root, changes).commit()
    assert (names(root.path), files(root.path)) == before


def test_one_file_by_two_names_is_refused(root: Root) -> None:
    (root.path / "link").symlink_to("a")
    (root.path / "hard").hardlink_to(root.path / "sub" / "b")
    for one, other in (("a", "link"), ("sub/b", "hard")):
        with pytest.raises(ToolError, match="are one file"):
            stage(root, [change(root, one, "x\n"), change(root, other, "y\n")]).commit()
    with pytest.raises(ToolError, match="is a symbolic link"):
        stage(root, [change(root, "link", None)]).commit()
    assert files(root.path) | BEFORE == files(root.path)


def test_every_protected_path_is_asked_for_before_anything_is_written(root: Root) -> None:
    changes = [change(root, "a", "A\n"), change(root, ".env", "KEY=1\n"), change(root, "old", "4\n", ".claude/x")]
    view = root
    asked: list[str] = []
    for _ in range(2):
        with pytest.raises(PermissionNeeded) as caught:
            stage(view, changes).commit()
        assert files(root.path) == BEFORE
        asked.append(caught.value.path)
        view = view.permitting(caught.value.path)
    stage(view, changes).commit()
    assert asked == [".env", ".claude/x"]
    assert files(root.path) == {"a": "A\n", "sub/b": "2\n", "gone": "3\n", ".env": "KEY=1\n", ".claude/x": "4\n"}


@pytest.mark.parametrize("limit", range(0, 60, 7))
def test_a_write_that_the_system_cuts_off_changes_nothing(root: Root, limit: int) -> None:
    done = run(TRY, str(root.path), "9", str(limit))
    whole = limit >= max(map(len, AFTER.values()))
    assert files(root.path) == (AFTER if whole else BEFORE)
    assert names(root.path) == names_of(AFTER if whole else BEFORE)
    assert ("larger than a file may be" in done.stdout) == (not whole)


def names_of(state: dict[str, str]) -> set[str]:
    return {str(part) for name in state for part in (Path(name), *Path(name).parents)} - {"."}


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB, where one may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, check=False)
    if mounted.returncode:
        # RLIMIT_FSIZE, in the test above, makes the same writes fail where mounting is not allowed.
        fill(disk)
        yield disk
        return
    fill(disk)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_changes_nothing(tiny_disk: Path) -> None:
    free = shutil.disk_usage(tiny_disk).free
    done = run(TRY, str(tiny_disk), "9000", *([] if free < 1_000_000 else ["30000"]))
    assert files(tiny_disk) == BEFORE
    assert names(tiny_disk) == names_of(BEFORE)
    assert "No space left on the disk" in done.stdout or "larger than a file may be" in done.stdout


@cache
def can_trace() -> bool:
    return shutil.which("strace") is not None and run("", before=("strace", "-o", os.devnull)).returncode == 0


def injecting(calls: str, fault: str, count: int) -> tuple[str, ...]:
    """The command in front of one whose ``count``-th call of each of ``calls`` is to meet ``fault``."""
    inject = f"inject={calls}:{fault}:when={count}"
    return ("strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}", "-e", inject)


@pytest.mark.parametrize("calls", CALLS, ids=lambda calls: calls.split(",")[0])
def test_a_system_call_that_fails_changes_nothing_or_does_not_matter(tmp_path: Path, calls: str) -> None:
    """Where nothing may be traced, the limit on what a file may hold makes each of the writes fail instead."""
    outcomes: list[bool] = []
    for count in range(1, 100):
        folder = tmp_path / str(count)
        folder.mkdir()
        fill(folder)
        if can_trace():
            done = run(TRY, str(folder), "9", before=injecting(calls, "error=ENOSPC", count))
        else:
            done = run(TRY, str(folder), "9", str(count * 9 - 1))
        outcomes.append(not done.stdout and not done.returncode)
        found = {name: text for name, text in files(folder).items() if not is_ours(name)}
        assert found == (AFTER if outcomes[-1] else BEFORE), done.stdout + done.stderr
        if outcomes[-5:] == [True] * 5:
            break
    assert outcomes[-5:] == [True] * 5


def is_ours(name: str) -> bool:
    return Path(name).name.startswith(".marvin-")


@pytest.mark.parametrize("calls", CALLS, ids=lambda calls: calls.split(",")[0])
def test_a_kill_at_any_system_call_leaves_every_file_old_or_new(tmp_path: Path, calls: str) -> None:
    """Where nothing may be traced, the limit on what a file may hold kills the run in each of its writes instead."""
    killed: list[dict[str, str]] = []
    for count in range(1, 100):
        folder = tmp_path / str(count)
        folder.mkdir()
        fill(folder)
        if can_trace():
            done = run(APPLY, str(folder), "9", before=injecting(calls, "signal=KILL", count))
        else:
            done = run(TRY.replace("SIG_IGN", "SIG_DFL"), str(folder), "9", str(count * 9 - 1))
        found = files(folder)
        if done.returncode == 0:
            assert found == AFTER
            break
        killed.append(found)
    assert killed
    for found in killed:
        known = {name: text for name, text in found.items() if not is_ours(name)}
        assert known.items() <= BEFORE.items() | AFTER.items()
        assert known.keys() >= {"a", "sub/b"}
        assert known.keys() & {"old", "deep/er/new"}


RESCUE = """
import pathlib, sys
from marvin_server.errors import ToolError
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root

folder = pathlib.Path(sys.argv[1])
root = Root(folder)
read = {name: documents.read(root, name) for name in ("a", "sub/b", "old")}
(folder / "old").write_text("changed since")

def save(path):
    # The person saves the first file when it has been swapped and the second one is about to be.
    if path == "sub/b" and (folder / "a").read_text() == "A":
        (folder / "a").write_text("the person's")

try:
    with root.watched(save):
        stage(root, [Change(name, document, name.upper()[-1]) for name, document in read.items()]).commit()
except ToolError as error:
    print(error)
"""


def test_what_a_person_saves_on_the_way_is_not_taken_back(tmp_path: Path) -> None:
    fill(tmp_path)
    done = subprocess.run([sys.executable, "-c", RESCUE, str(tmp_path)], capture_output=True, text=True, check=True)
    after = files(tmp_path)
    [spare] = after.keys() - BEFORE.keys()
    assert after == {**BEFORE, "a": "the person's", "old": "changed since", spare: BEFORE["a"]}
    assert done.stdout.startswith("'old' has changed on disk since it was read. Read it again.")
    assert done.stdout.endswith(f"Not all files could be put back; their old versions are in '{spare}'.\n")


def test_a_file_whose_making_is_killed_half_way_is_not_there(tmp_path: Path) -> None:
    """The kernel kills the process when a file gets larger than its limit."""
    script = """
import pathlib, resource, signal, sys
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (5, 5))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
stage(Root(pathlib.Path(sys.argv[1])), [Change("file", None, "x" * 10)]).commit()
"""
    done = subprocess.run([sys.executable, "-B", "-c", script, str(tmp_path)], check=False)
    assert done.returncode < 0
    assert "file" not in names(tmp_path)
