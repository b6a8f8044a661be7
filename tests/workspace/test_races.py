"""A process swaps folders and files for links that lead out while every method of the root works on them."""

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from marvin_server.errors import PathRefused, ToolError
from marvin_server.workspace import documents, listing
from marvin_server.workspace.beneath import Opener
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes
from marvin_server.workspace.search import search
from tests.workspace.openers import OPENERS
from tests.workspace.writing import append, create

SWAP = """
import contextlib, itertools, os, random
made = itertools.count()

def put(source, name):
    # Never in step with what the journal of the file system lets the other process do.
    for _ in range(random.randrange(5000)):
        pass
    while os.path.lexists(source):
        try:
            os.rename(source, name)
        except OSError:
            with contextlib.suppress(OSError):
                os.rename(name, f"made{next(made)}")

print(end="x", flush=True)
while True:
    for name in ("folder", "file"):
        for link in (f"relative {name}", f"absolute {name}"):
            put(name, "spare")
            put(link, name)
            put(name, link)
            put("spare", name)
"""
ENOUGH, LONGEST = (100, 50), 20.0
LEAKS = ("secret", "outsider", "outside target")
INSIDE, OUTSIDE = "inside\n", "untouched secret\n"

Operation = Callable[[Root, int], object]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project and a folder outside that hold the same names."""
    for place, text in (("outside", OUTSIDE), ("project/folder", INSIDE)):
        folder = tmp_path / place
        (folder / "empty").mkdir(parents=True)
        for name in ("file", "victim"):
            (folder / name).write_text(text)
        (folder / "pointer").symlink_to(f"{place.partition('/')[0]} target")
    for name in ("outsider", "stranger"):
        (tmp_path / "outside" / name).write_text(OUTSIDE)
    project = tmp_path / "project"
    (project / "file").write_text(INSIDE)
    for kind, base in (("relative", ".."), ("absolute", str(tmp_path))):
        (project / f"{kind} folder").symlink_to(f"{base}/outside")
        (project / f"{kind} file").symlink_to(f"{base}/outside/file")
    return project


@contextmanager
def swapping(project: Path) -> Generator[None]:
    with subprocess.Popen([sys.executable, "-c", SWAP], cwd=project, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.read(1)
        yield
        assert swapper.poll() is None
        swapper.kill()


def state(folder: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Everything in a folder: mode and number of names, and content or target."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.readlink().as_posix() if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
        found[path.relative_to(folder).as_posix()] = (status.st_mode, status.st_nlink, content)
    return found


def opened(root: Root, path: str, flags: int) -> bytes:
    fd = root.open(path, flags)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def replaced(root: Root, path: str) -> None:
    fd = root.open(path, os.O_RDWR)
    try:
        root.replace(path, fd, INSIDE.encode())
    finally:
        os.close(fd)


def made_and_removed(root: Root, number: int) -> None:
    """Removes a file whose name exists outside too; makes it anew first, where it is gone."""
    with suppress(FileExistsError):
        os.close(root.open("folder/victim", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    root.remove("folder/victim")


def renamed(root: Root, number: int) -> bytes:
    """Moves a file out of the folder that is swapped, looks at it, and puts one like it back."""
    root.rename("folder/victim", "taken")
    text = opened(root, "taken", os.O_RDONLY)
    for _ in range(1000):
        with suppress(OSError, ToolError):
            root.rename("taken", "folder/victim")
            break
    return text


def linked(root: Root, number: int) -> bytes:
    root.hard_link("folder/file", f"second{number}")
    return opened(root, f"second{number}", os.O_RDONLY)


def made_and_removed_folder(root: Root, number: int) -> None:
    root.make_directory("folder/empty")
    root.remove_directory("folder/empty")


def searched(root: Root, number: int) -> object:
    return asyncio.run(search(Processes(), root, "secret|outsider", environ={"PATH": os.environ["PATH"]})).lines


def rewritten(root: Root, number: int) -> object:
    return documents.write(root, documents.read(root, "folder/file"), INSIDE)


def lengthened(root: Root, number: int) -> str:
    """Appends to a file; makes it anew first, where the swapping has left none in its place."""
    with suppress(FileExistsError):
        root.make_directory("folder")
    with suppress(FileExistsError):
        os.close(root.open("folder/file", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    return append(root, "folder/file", ".")


OPERATIONS: dict[str, Operation] = {
    "open a file in the folder": lambda root, _: opened(root, "folder/file", os.O_RDONLY),
    "open the file": lambda root, _: opened(root, "file", os.O_RDONLY),
    "open and empty": lambda root, _: opened(root, "folder/file", os.O_RDWR | os.O_TRUNC),
    "make by opening": lambda root, n: os.close(root.open(f"folder/opened{n % 50}", os.O_WRONLY | os.O_CREAT)),
    "read": lambda root, _: documents.read(root, "file").text,
    "read bytes": lambda root, _: documents.read_bytes(root, "folder/file"),
    "read lines": lambda root, _: asyncio.run(documents.read_lines(root, "folder/file", 1, 5)),
    "create": lambda root, n: create(root, f"folder/new{n}", INSIDE),
    "append": lengthened,
    "write": rewritten,
    "replace in the folder": lambda root, _: replaced(root, "folder/file"),
    "replace the file": lambda root, _: replaced(root, "file"),
    "remove": made_and_removed,
    "rename": renamed,
    "hard link": linked,
    "make a folder": lambda root, n: root.make_directory(f"folder/made{n % 50}/below"),
    "remove a folder": made_and_removed_folder,
    "stat": lambda root, _: root.stat("folder/stranger"),
    "place": lambda root, _: root.place("folder/file"),
    "link": lambda root, _: root.link("folder/pointer"),
    "names": lambda root, _: listing.names(root, "folder"),
    "top level": lambda root, _: listing.top_level(root, "folder"),
    "walk": lambda root, _: list(listing.walk(root, "folder")),
    "tree": lambda root, _: listing.tree(root, "."),
    "search": searched,
    "check writable": lambda root, n: root.check_writable(f"folder/unmade{n}"),
}
NEVER_REFUSED = {"names", "top level", "tree", "search"}  # they leave out what leads out
NEVER_DONE = {"stat"}  # its file is outside only


@pytest.mark.parametrize("opener", OPENERS, ids=lambda opener: opener.__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_outside_is_read_or_changed_while_paths_are_swapped(name: str, opener: Opener, project: Path) -> None:
    outside = project.parent / "outside"
    before = state(outside)
    root = Root(project, opener)
    if name not in NEVER_DONE:
        OPERATIONS[name](root, -1)  # undisturbed, it does what it is to do
    done = refused = 0
    told: list[str] = []
    with swapping(project):
        deadline = time.monotonic() + LONGEST
        for number in itertools.count():
            enough = (done >= ENOUGH[0] or name in NEVER_DONE) and (refused >= ENOUGH[1] or name in NEVER_REFUSED)
            if enough or time.monotonic() > deadline:
                break
            try:
                result = OPERATIONS[name](root, number)
            except PathRefused:
                refused += 1
            except (OSError, ToolError) as error:
                told.append(str(error))
            else:
                done += 1
                told.append(repr(result))
    assert state(outside) == before
    assert [text for text in told if any(leak in text for leak in LEAKS)] == []
    assert not (done and name in NEVER_DONE)
    assert refused or name in NEVER_REFUSED
