"""Huge files, endless lines and devices are answered in bounded memory and time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.patience import SECONDS

GIGABYTE = 1_000_000_000
HEAD = b"the first words of a text\n" * 1000
# Does one thing with the file and says how that went, how long it took, and the memory of this and of its children.
WORK = """
import asyncio, json, os, resource, sys, time
from marvin_server.errors import ToolError
from marvin_server.workspace import documents, listing, process
from marvin_server.workspace.confine import Root
from marvin_server.workspace.search import search
from marvin_server.workspace.workspace import Workspace
from tests.workspace.writing import append

what, folder = sys.argv[1:]
root = Root(__import__("pathlib").Path(folder))
environ = {"PATH": "/nowhere" if what == "search by Python" else os.environ["PATH"]}

def find(pattern):
    found = asyncio.run(search(process.Processes(), root, pattern, environ=environ))
    return [[line.number, len(line.text)] for line in found.lines[:3]]

DO = {
    "read": lambda: documents.read(root, "file").text,
    "read bytes": lambda: documents.read_bytes(root, "file", 1_000_000),
    "first lines": lambda: len(asyncio.run(documents.read_lines(root, "file", 1, 3)).lines),
    "later lines": lambda: len(asyncio.run(documents.read_lines(root, "file", 10**7, 10**7 + 1)).lines),
    "append": lambda: append(root, "file", "more"),
    "search by ripgrep": lambda: find("first words"),
    "search by Python": lambda: find("first words"),
    "tree": lambda: listing.tree(root),
    "rename": lambda: (root.rename("file", "moved"), root.rename("moved", "file")) and "done",
}
list(listing.walk(root))
started, unit = time.monotonic(), 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    result = DO[what]()
except ToolError as error:
    result = f"refused: {error}"
print(json.dumps({
    "result": result,
    "seconds": time.monotonic() - started,
    "own": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit,
    "children": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit,
}))
"""
TOO_LARGE, BINARY = "refused: 'file' has ", "refused: 'file' is a binary file"


def outcome(what: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", WORK, what, folder], capture_output=True, timeout=SECONDS, check=True)
    return json.loads(done.stdout)


@pytest.fixture(params=["sparse zeros", "sparse after text", "one line"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file of 1 GB: all zeros; text and then zeros, which are one line; and a text that is one line of 100 MB."""
    with (tmp_path / "file").open("wb") as file:
        if request.param == "one line":
            file.writelines([HEAD.replace(b"\n", b" ")] * (100_000_000 // len(HEAD)))
        else:
            file.write(HEAD if request.param == "sparse after text" else b"")
            file.truncate(GIGABYTE)
    return request.param


@pytest.mark.parametrize(
    ("what", "zeros", "text"),
    [
        ("read", TOO_LARGE, TOO_LARGE),
        ("read bytes", TOO_LARGE, TOO_LARGE),
        ("first lines", BINARY, None),
        ("later lines", BINARY, 0),
        ("append", TOO_LARGE, TOO_LARGE),
        ("search by ripgrep", [], None),
        ("search by Python", [], None),
        ("tree", "file", "file"),
        ("rename", "done", "done"),
    ],
)
def test_a_huge_file_is_answered_in_bounded_memory_and_time(
    what: str, zeros: object, text: object, kind: str, tmp_path: Path
) -> None:
    found = outcome(what, tmp_path)
    expected = zeros if kind == "sparse zeros" else text
    if what == "first lines" and expected is None:
        expected = 1 if kind == "one line" else 3
    if what.startswith("search") and expected is None:
        expected = [[1, 501]] if kind == "one line" else [[number, 25] for number in (1, 2, 3)]
    if isinstance(expected, str) and expected.startswith("refused"):
        assert found["result"].startswith((TOO_LARGE, BINARY))
    else:
        assert found["result"] == expected
    assert found["own"] < 60_000_000
    assert found["children"] < (150_000_000 if what == "search by Python" else 800_000_000)
    assert found["seconds"] < 30


@pytest.mark.parametrize("what", ["read", "first lines", "append", "search by ripgrep", "search by Python", "tree"])
def test_a_pipe_is_answered_at_once(what: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    started = time.monotonic()
    found = outcome(what, tmp_path)
    assert time.monotonic() - started < 20
    empty: dict[str, object] = {"tree": "(empty)", "search by ripgrep": [], "search by Python": []}
    if what in empty:
        assert found["result"] == empty[what]
    else:
        assert found["result"].startswith("refused: 'file' is a device, pipe or socket")
