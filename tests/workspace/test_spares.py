"""What a killed process has left beside files goes with the next change there, and nothing else does."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from marvin_server.workspace import documents, spares
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.checkpoint_files import look, put
from marvin_server.workspace.checkpoint_objects import Objects, state
from marvin_server.workspace.confine import Root
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is swept")

ACTS = {
    "write": "documents.write(root, documents.read(root, 'a'), 'new')",
    "change": "stage(root, [Change('a', documents.read(root, 'a'), 'new'), Change('made', None, 'made')]).commit()",
    "undo": "put(root, 'a', look(root, 'a', 99), state(b'new', 0o100644), objects(b'new'))",
}
SCRIPT = """
import pathlib, sys
from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.checkpoint_files import look, put
from marvin_server.workspace.checkpoint_objects import Objects, state
from marvin_server.workspace.confine import Root

def objects(content):
    kept = Objects(pathlib.Path(sys.argv[2]), None)
    kept.keep(content)
    return kept

root = Root(pathlib.Path(sys.argv[1]))
"""
CALLS = "rename,renameat,renameat2,link,linkat,unlink,unlinkat,fchmod"


def run(script: str, *arguments: str | Path, before: tuple[str, ...] = ()) -> int:
    argv = [*before, sys.executable, "-B", "-c", script, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False).returncode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("old")
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def killed_at_each_call(act: str, tmp_path: Path) -> Iterator[Path]:
    """A folder for each system call of ``act`` in which it was killed, as it was left."""
    assert run(SCRIPT + "objects(b'new')", tmp_path, tmp_path / "objects") == 0
    for count in range(1, 100):
        folder = tmp_path / f"{count}"
        folder.mkdir()
        (folder / "a").write_text("old")
        kill = ("-e", f"trace={CALLS}", "-e", f"inject={CALLS}:signal=KILL:when={count}")
        tracing = ("strace", "-f", "-qq", "-o", os.devnull, *kill)
        if run(SCRIPT + ACTS[act], folder, tmp_path / "objects", before=tracing) == 0:
            return
        yield folder


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at a system call")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("next_act", ACTS)
def test_after_a_kill_at_any_call_the_next_change_leaves_no_spare_that_nobody_needs(
    act: str, next_act: str, tmp_path: Path
) -> None:
    swept = 0
    for folder in killed_at_each_call(act, tmp_path):
        left = names(folder) - {"a", "made"}
        (folder / "made").unlink(missing_ok=True)
        before = (folder / "a").read_text()
        assert run(SCRIPT + ACTS[next_act], folder, tmp_path / "objects") == 0
        still = names(folder) - {"a", "made"}
        swept += len(left - still)
        assert (folder / "a").read_text() == "new"
        # The old version is needed once it has no other name.
        assert [(folder / name).read_text() for name in still] == (["old"] if still else [])
        assert not still or before == "new"
        assert all(name.endswith(".old.tmp") for name in still)
    assert swept


def dead() -> str:
    """The name of a new spare of a process that has ended."""
    script = "from marvin_server.workspace import spares; print(spares.name('new'))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def swept(folder: Path) -> set[str]:
    Root(folder).sweep("")
    return names(folder)


def test_a_spare_of_a_dead_process_goes_and_one_of_a_living_process_stays(folder: Path) -> None:
    script = "from marvin_server.workspace import spares; print(spares.name('new'), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin
        assert other.stdout
        theirs = other.stdout.readline().strip()
        for name in (theirs, spares.name("new"), dead()):
            (folder / name).touch()
        (folder / dead()).symlink_to("a")
        living = {"a", theirs, next(name for name in names(folder) if f"-{os.getpid()}-" in name)}
        assert swept(folder) == living
        other.stdin.close()
    assert swept(folder) == living - {theirs}


def test_a_process_that_got_the_number_of_a_dead_one_does_not_keep_its_spare(folder: Path) -> None:
    place, pid, start = spares.name("new").removeprefix(".marvin-").split("-")[:3]
    (folder / f".marvin-{place}-{pid}-{int(start) - 1}-{'0' * 16}.new.tmp").touch()
    assert swept(folder) == {"a"}


def edited(part: int, text: str) -> Callable[[str], str]:
    def edit(name: str) -> str:
        parts = name.split("-")
        parts[part] = text
        return "-".join(parts)

    return edit


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda name: name.replace(old, new)


@pytest.mark.parametrize(
    "edit",
    [
        edited(1, "0" * 16),
        edited(1, "0"),
        edited(2, "99999999999999999999"),
        edited(2, "0"),
        edited(3, ""),
        replaced("marvin", "MARVIN"),
        replaced(".tmp", ".tmp~"),
        replaced(".tmp", ""),
        replaced(".new.", "."),
        replaced(".marvin", "marvin"),
    ],
)
def test_what_is_not_surely_a_dead_processs_of_this_system_stays(edit: Callable[[str], str], folder: Path) -> None:
    name = edit(dead())
    (folder / name).write_text("a person's")
    assert swept(folder) == {"a", name}


def test_an_old_version_stays_as_long_as_it_is_the_last_name_of_its_content(folder: Path) -> None:
    name = dead().replace(".new.", ".old.")
    (folder / name).write_text("a person's")
    assert swept(folder) == {"a", name}
    (folder / "b").hardlink_to(folder / name)
    assert swept(folder) == {"a", "b"}
    assert (folder / "b").read_text() == "a person's"


def test_a_folder_of_such_a_name_stays(folder: Path) -> None:
    name = dead()
    (folder / name).mkdir()
    assert swept(folder) == {"a", name}


@pytest.mark.parametrize("act", ACTS)
def test_no_change_leaves_a_spare(act: str, folder: Path, tmp_path: Path) -> None:
    root = Root(folder)
    if act == "write":
        documents.write(root, documents.read(root, "a"), "new")
    elif act == "change":
        stage(root, [Change("a", documents.read(root, "a"), "new")]).commit()
    else:
        objects = Objects(tmp_path / "objects", None)
        objects.keep(b"new")
        put(root, "a", look(root, "a", 99), state(b"new", 0o100644), objects)
    assert (names(folder), (folder / "a").read_text()) == ({"a"}, "new")
