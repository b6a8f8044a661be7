"""Checkpoints of workspaces of every kind, hostile ones too, by real git."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from marvin_server.errors import CheckpointError, ToolError
from marvin_server.workspace.checkpoint_files import Found, look, put
from marvin_server.workspace.checkpoint_objects import FileState, Objects, state
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root
from tests.patience import SECONDS

REGULAR = stat.S_IFREG


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def checkpoints(workspace: Path, tmp_path: Path) -> Iterator[Checkpoints]:
    checkpoints = Checkpoints(tmp_path / "state" / "checkpoints", workspace, os.environ)
    yield checkpoints
    checkpoints.objects.close()


def changed(checkpoints: Checkpoints, act: Callable[[], object]) -> dict[str, tuple[object, object]]:
    """What a checkpoint before ``act`` and one after it differ in, as contents, with permissions that are not 644."""
    before = checkpoints.snapshot().id
    act()
    after = checkpoints.snapshot().id

    def shown(each: FileState | None) -> object:
        if each is None:
            return None
        content = checkpoints.objects.content(each.id)
        rights = stat.S_IMODE(each.mode)
        return content if rights == 0o644 else (content, "link" if each.is_link else f"{rights:o}")

    found = checkpoints.objects.differences(before, after)
    checkpoints.objects.close()
    return {path: (shown(old), shown(new)) for path, (old, new) in found.items()}


def shell(workspace: Path, text: str) -> Callable[[], object]:
    return lambda: subprocess.run(["bash", "-ec", text], cwd=workspace, check=True, capture_output=True)


def test_contents_links_and_permissions_are_kept(checkpoints: Checkpoints, workspace: Path) -> None:
    (workspace / "b").write_bytes(b"\r\n\0\xff")
    act = shell(workspace, "rm b; ln -s /etc/passwd l; printf x > n; chmod 755 n; printf y > m; chmod 640 m")
    assert changed(checkpoints, act) == {
        "b": (b"\r\n\0\xff", None),
        "l": (None, (b"/etc/passwd", "link")),
        "m": (None, (b"y", "640")),
        "n": (None, (b"x", "755")),
    }


def test_permissions_alone_are_a_change(checkpoints: Checkpoints, workspace: Path) -> None:
    # Git looks at the seconds of a file's times alone.
    later = "until touch new && [ $(stat -c %Z new) -gt $(stat -c %Z a.txt) ]; do :; done; rm new"
    act = shell(workspace, f"{later}; chmod 600 a.txt")
    assert changed(checkpoints, act) == {"a.txt": (b"one\n", (b"one\n", "600"))}


def test_nothing_changed_gives_the_same_checkpoint(checkpoints: Checkpoints, workspace: Path) -> None:
    assert changed(checkpoints, lambda: os.utime(workspace / "a.txt")) == {}


def test_an_empty_workspace_has_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    checkpoints = Checkpoints(tmp_path / "state", tmp_path / "empty", os.environ)
    assert changed(checkpoints, shell(tmp_path / "empty", "echo x > x")) == {"x": (None, b"x\n")}
    assert changed(checkpoints, shell(tmp_path / "empty", "rm x")) == {"x": (b"x\n", None)}


def test_a_folder_of_a_repository_is_ignored_by_the_rules_of_all_of_it(tmp_path: Path) -> None:
    root = tmp_path / "repository" / "part"
    root.mkdir(parents=True)
    shell(root.parent, "git init -q; echo '*.o' > .gitignore; echo out/ > .git/info/exclude; echo x > beside")()
    checkpoints = Checkpoints(tmp_path / "state", root, os.environ)
    act = shell(root, "mkdir out; touch x.o out/y z; echo '*.tmp' > .gitignore; touch t.tmp")
    assert changed(checkpoints, act) == {".gitignore": (None, b"*.tmp\n"), "z": (None, b"")}
    assert set(checkpoints.ignored()) == {"out/", "t.tmp", "x.o"}
    assert changed(checkpoints, shell(root, "rm z .gitignore t.tmp; echo more >> ../beside")) == {
        ".gitignore": (b"*.tmp\n", None),
        "z": (b"", None),
    }


def test_what_is_left_out_is_named_with_the_reason(checkpoints: Checkpoints, workspace: Path) -> None:
    shell(
        workspace,
        "truncate -s 100M big; mkfifo pipe; echo KEY=1 > .env; mkdir .tickets; touch .tickets/1; "
        "git init -q inner; touch inner/x; mkdir 'git~1'; touch 'git~1/config'",
    )()
    snapshot = checkpoints.snapshot()
    assert sorted(snapshot.not_kept) == [
        ".env: it may hold secrets",
        ".tickets/1: it belongs to the ticket system",
        "big: 105 MB, over the limit of 10 MB",
        "git~1/config: some systems take its name for Git's own folder",
        "inner/: a repository of its own",
    ]
    assert changed(checkpoints, shell(workspace, "rm big; echo small > big")) == {"big": (None, b"small\n")}
    assert changed(checkpoints, shell(workspace, "truncate -s 100M big")) == {"big": (b"small\n", None)}


def test_bytes_stay_as_they_are_whatever_attributes_say_and_nothing_runs(
    checkpoints: Checkpoints, workspace: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    home = tmp_path / "evil-home"
    home.mkdir()
    filters = (
        f'[filter "evil"]\n clean = {program}\n smudge = {program}\n required = true\n[core]\n fsmonitor = {program}\n'
    )
    (home / ".gitconfig").write_text(filters)
    shell(workspace, "git init -q")()
    with (workspace / ".git" / "config").open("a") as config:
        config.write(filters + " hooksPath = hooks\n autocrlf = true\n")
    (workspace / "hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (workspace / "hooks" / hook).symlink_to(program)
    (workspace / ".gitattributes").write_text("* text eol=lf filter=evil ident working-tree-encoding=UTF-16\n")
    content = b"$Id$\r\nb\nc\r\n"
    environ = {**os.environ, "HOME": str(home), "GIT_EXTERNAL_DIFF": str(program), "GIT_DIR": "/nowhere"}
    hostile = Checkpoints(tmp_path / "state", workspace, environ)
    found = changed(hostile, lambda: (workspace / "x").write_bytes(content))
    assert found == {"x": (None, content)}
    assert not ran.exists()


def test_odd_names_are_kept(checkpoints: Checkpoints, workspace: Path) -> None:
    names = ["a\nb", "-rf", ":(top)x", "a\tb", "ü", 'q"q', "back\\slash", " lead", "A.TXT", os.fsdecode(b"\xff\xfe")]

    def make() -> None:
        for name in names:
            (workspace / name).write_text(name, errors="surrogateescape")

    assert changed(checkpoints, make) == {name: (None, os.fsencode(name)) for name in names}
    assert changed(checkpoints, shell(workspace, "mv A.TXT tmp; mv tmp A.txt")) == {
        "A.TXT": (b"A.TXT", None),
        "A.txt": (None, b"A.TXT"),
    }


def test_files_folders_and_links_may_change_places(checkpoints: Checkpoints, workspace: Path) -> None:
    shell(workspace, "mkdir d e; echo d > d/x; echo e > e/x")()
    assert changed(checkpoints, shell(workspace, "rm a.txt; mkdir a.txt; echo in > a.txt/in; rm -r d; ln -s e d")) == {
        "a.txt": (b"one\n", None),
        "a.txt/in": (None, b"in\n"),
        "d": (None, (b"e", "link")),
        "d/x": (b"d\n", None),
    }


def test_many_files_and_few_are_read_back_alike(checkpoints: Checkpoints, workspace: Path) -> None:
    def make() -> None:
        for number in range(700):
            (workspace / f"{number}").write_text(f"{number}\n")

    assert changed(checkpoints, make) == {f"{number}": (None, f"{number}\n".encode()) for number in range(700)}
    assert list((checkpoints.repository.place / "objects" / "pack").glob("*.pack"))


def test_a_file_that_changes_within_one_tick_of_the_clock_is_seen(checkpoints: Checkpoints, workspace: Path) -> None:
    for number in range(20):
        new = f"{number:03}\n"
        old = (workspace / "a.txt").read_bytes()
        assert changed(checkpoints, lambda new=new: (workspace / "a.txt").write_text(new))["a.txt"] == (
            old,
            new.encode(),
        )


def test_the_store_is_private_and_a_repository_that_git_finds_whole(checkpoints: Checkpoints, workspace: Path) -> None:
    first = checkpoints.snapshot().id
    second = checkpoints.objects.checkpoint_of({"x/y": state(b"y", REGULAR | 0o600), "l": state(b"t", stat.S_IFLNK)})
    for content in (b"y", b"t"):
        checkpoints.objects.keep(content)
    place = checkpoints.repository.place
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (place, *list(place.parents)[:2])} == {0o700}
    git = ("git", "--git-dir", checkpoints.repository.place)
    subprocess.run([*git, "fsck", "--strict", "--no-dangling"], check=True)
    for checkpoint in (first, second):
        subprocess.run([*git, "ls-tree", "-r", checkpoint], check=True, stdout=subprocess.DEVNULL)


def test_tidying_keeps_what_is_named_and_drops_the_rest(checkpoints: Checkpoints, workspace: Path) -> None:
    kept = checkpoints.snapshot().id
    lost = checkpoints.objects.keep(b"nobody needs this")
    old = time.time() - 7200
    place = checkpoints.repository.place / "objects" / lost[:2] / lost[2:]
    for each in checkpoints.repository.place.rglob("objects/??/*"):
        os.utime(each, (old, old))
    other = checkpoints.repository.place.with_name("0" * 32)
    other.mkdir()
    os.utime(other, (0, 0))
    checkpoints.repository.tidy([kept])
    deadline = time.monotonic() + SECONDS
    while (
        place.exists() or not list((checkpoints.repository.place / "objects").glob("pack/*.pack"))
    ) and time.monotonic() < deadline:
        os.sched_yield()
    assert not place.exists()
    assert not other.exists()
    (workspace / "a.txt").write_text("two\n")
    now = checkpoints.snapshot().id
    found = checkpoints.objects.differences(kept, now)
    assert [checkpoints.objects.content(each.id) for each in found["a.txt"] if each] == [b"one\n", b"two\n"]


def test_without_git_it_says_so(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="git is not installed"):
        Checkpoints(tmp_path / "state", workspace, {"PATH": str(tmp_path)}).snapshot()


def test_a_workspace_that_is_too_large_is_refused(checkpoints: Checkpoints, workspace: Path) -> None:
    for number in range(102):
        with (workspace / f"{number}").open("wb") as file:
            file.truncate(9_900_000)
    with pytest.raises(CheckpointError, match="over the limit of 100,000 and 1,000 MB"):
        checkpoints.snapshot()


SNAPSHOT = """
import os, sys
from pathlib import Path
from marvin_server.workspace.checkpoints import Checkpoints
print(Checkpoints(Path(sys.argv[1]), Path(sys.argv[2]), os.environ).snapshot().id, flush=True)
"""


def snapshot_process(checkpoints: Checkpoints, workspace: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", SNAPSHOT, str(checkpoints.repository.place.parent), str(workspace)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def test_processes_take_turns(checkpoints: Checkpoints, workspace: Path) -> None:
    processes = [snapshot_process(checkpoints, workspace) for _ in range(4)]
    ids = {process.communicate(timeout=SECONDS)[0] for process in processes}
    assert ids == {f"{checkpoints.snapshot().id}\n"}


def test_a_kill_in_between_leaves_nothing_broken(checkpoints: Checkpoints, workspace: Path) -> None:
    for number in range(600):
        (workspace / f"{number}").write_text(f"{number}\n")
    for delay in (0.05, 0.1, 0.15, 0.2, 0.3):
        process = snapshot_process(checkpoints, workspace)
        try:
            process.communicate(timeout=delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate()
    checkpoints.repository.place.mkdir(parents=True, exist_ok=True)
    (checkpoints.repository.place / "index.lock").touch()
    assert changed(checkpoints, (workspace / "0").unlink) == {"0": (b"0\n", None)}


def test_a_damaged_index_is_made_anew(checkpoints: Checkpoints, workspace: Path) -> None:
    before = checkpoints.snapshot().id
    (checkpoints.repository.place / "index").write_bytes(b"garbage")
    assert checkpoints.snapshot().id == before
    shutil.rmtree(checkpoints.repository.place / "objects")
    assert checkpoints.snapshot().id == before
    assert changed(checkpoints, (workspace / "a.txt").unlink) == {"a.txt": (b"one\n", None)}


def test_keys_and_marvins_own_files_in_a_home_are_left_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shell(
        tmp_path, "mkdir -p home/.ssh home/state home/.aws; touch home/.ssh/id home/state/db home/.npmrc home/notes"
    )()
    home_environ = {**os.environ, "HOME": str(home)}
    checkpoints = Checkpoints(home / "state" / "checkpoints", home, home_environ, [home / "state"])
    snapshot = checkpoints.snapshot()
    kept = checkpoints.objects.differences(checkpoints.objects.checkpoint_of({}), snapshot.id)
    assert kept.keys() == {"notes"}
    assert checkpoints.snapshot().id == snapshot.id


def test_damage_is_named(checkpoints: Checkpoints) -> None:
    snapshot = checkpoints.snapshot().id
    with pytest.raises(CheckpointError, match="is missing or damaged"):
        checkpoints.objects.differences(snapshot, "0" * 40)
    place = checkpoints.repository.place / "objects" / snapshot[:2] / snapshot[2:]
    place.chmod(0o600)
    place.write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be read"):
        checkpoints.objects.differences(snapshot, "0" * 40)


NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=8).filter(
    lambda name: name not in {".", ".."}
)
STATES = st.builds(
    state,
    st.binary(max_size=4),
    st.sampled_from([REGULAR | 0o644, REGULAR | 0o755, REGULAR | 0o600, REGULAR | 0o000, stat.S_IFLNK]),
)
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), STATES, max_size=6).filter(
    lambda tree: not any(other.startswith(f"{path}/") for path in tree for other in tree)
)


@given(before=TREES, after=TREES)
@checking(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_differences_are_those_of_the_files(
    tmp_path: Path, before: dict[str, FileState], after: dict[str, FileState]
) -> None:
    objects = Objects(tmp_path / "objects", None)
    found = objects.differences(objects.checkpoint_of(before), objects.checkpoint_of(after))
    paths = before.keys() | after.keys()
    assert found == {path: (before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)}


def test_putting_a_file_in_place_refuses_what_has_changed_meanwhile(checkpoints: Checkpoints, workspace: Path) -> None:
    root = Root(workspace)
    found = look(root, "a.txt", 100)
    new = state(b"new\n", REGULAR | 0o600)
    checkpoints.objects.keep(b"new\n")
    (workspace / "a.txt").write_text("mine\n")
    with pytest.raises(ToolError, match="it changed at this moment"):
        put(root, "a.txt", found, new, checkpoints.objects)
    assert (workspace / "a.txt").read_text() == "mine\n"
    put(root, "a.txt", look(root, "a.txt", 100), new, checkpoints.objects)
    assert look(root, "a.txt", 100) == Found(new, b"new\n")
    with pytest.raises(ToolError, match="it changed at this moment"):
        put(root, "a.txt", Found(), new, checkpoints.objects)
    put(root, "deep/er/b", Found(), new, checkpoints.objects)
    assert sorted(path.name for path in workspace.rglob("*")) == ["a.txt", "b", "deep", "er"]
