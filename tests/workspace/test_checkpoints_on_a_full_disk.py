"""A checkpoint store that cannot be written says so, leaves the person's files whole, and works again afterwards."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_server.workspace.checkpoints import Checkpoints
from tests.patience import SECONDS

SCRIPT = """
import contextlib, os, pathlib, sys
from marvin_server.errors import CheckpointError, ToolError
from marvin_server.workspace.checkpoint_files import look, put
from marvin_server.workspace.checkpoints import Checkpoints
from marvin_server.workspace.confine import Root

def fail(code, error):
    os.close(2)
    assert os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT) == 2
    for _ in range(2):  # one of them may fail
        with contextlib.suppress(OSError):
            os.write(2, str(error).encode())
    os._exit(code)

root = Root(pathlib.Path(sys.argv[1]))
checkpoints = Checkpoints(pathlib.Path(sys.argv[2]), root.path, os.environ)
try:
    before = checkpoints.snapshot().id
    os.replace(root.path / "theirs", root.path / "a")
    after = checkpoints.snapshot().id
    for path, (old, _) in checkpoints.objects.differences(before, after).items():
        put(root, path, look(root, path, 1000), old, checkpoints.objects)
except CheckpointError as error:
    fail(3, error)
except ToolError as error:
    fail(4, error)
os._exit(0)
"""
START = {"a": "one\n", "theirs": "two\n", "sub/c": "three\n"}
REPLACED = {"a": "two\n", "sub/c": "three\n"}
HALF_TAKEN_BACK = {"a": "one\n", "sub/c": "three\n"}
CALLS = ("write", "fsync,fdatasync")

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes system calls fail")


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def snapshot(workspace: Path, store: Path) -> str:
    checkpoints = Checkpoints(store, workspace, os.environ)
    try:
        return checkpoints.snapshot().id
    finally:
        checkpoints.objects.close()


def runs(calls: str, count: int, *arguments: Path) -> int:
    """The exit code of the script in which the ``count``-th of ``calls`` of each process finds the disk full."""
    fault = ("-e", f"trace={calls}", "-e", f"inject={calls}:error=ENOSPC:when={count}")
    argv = ["strace", "-f", "-qq", "-o", os.devnull, *fault, sys.executable, "-B", "-c", SCRIPT, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False).returncode


@pytest.mark.parametrize("calls", CALLS, ids=lambda calls: calls.partition(",")[0])
def test_whatever_cannot_be_written_is_said_and_the_files_stay_whole(calls: str, tmp_path: Path) -> None:
    """Not one of the person's files is ever other than before or after the whole of a step."""
    whole = {0: [START], 3: [START, REPLACED], 4: [REPLACED, HALF_TAKEN_BACK]}
    codes: list[int] = []
    for count in range(1, 40):
        folder = tmp_path / str(count)
        for name, text in START.items():
            (folder / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "work" / name).write_text(text)
        work, store, said = folder / "work", folder / "store", folder / "said"
        code = runs(calls, count, work, store, said)
        assert files(work) in whole[code]
        assert code == 0 or re.search("No space left on device|git could not keep the files: ", said.read_text())
        # What was kept before is unharmed, and the next checkpoint has every file.
        assert snapshot(work, store) == snapshot(work, folder / "new store")
        codes.append(code)
        if codes[-5:] == [0] * 5:
            break
    assert codes[-5:] == [0] * 5
    assert 3 in codes
    assert 4 in codes
