"""Scans many files: a few in a thread, more of them in processes of their own, so that no loop and no lock waits."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event

import msgspec

from marvin_server.errors import ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.scan import LARGEST, Facts, scan
from marvin_server.workspace.undisturbed import undisturbed

_FEW = 100
_SMALL = 300_000  # bytes in all
_PROCESSES = 4
_SECONDS = 120.0
_LENGTH = 4  # bytes that tell a frame's

Scanned = list[tuple[bytes, Facts]]  # by path, as the system spells it


async def scan_all(root: Root, sizes: Mapping[str, int], take: Callable[[str, Facts], None]) -> None:
    """Call ``take`` with the facts of each of the files, which are given with their sizes in bytes, as they come.

    A file that cannot be read has those of its path. All that was started has ended on return, cancellation included.
    What processes fail to do within two minutes is left out.
    """
    if len(sizes) <= _FEW and sum(sizes.values()) <= _SMALL:
        stopped = Event()

        def one_after_the_other() -> None:
            for path in sizes:
                if stopped.is_set():
                    return
                take(path, scan(path, content(root, path)))

        try:
            await asyncio.to_thread(one_after_the_other)
        finally:
            stopped.set()
        return
    paths = sorted(sizes, key=sizes.__getitem__, reverse=True)
    count = min(os.cpu_count() or 1, _PROCESSES, -(-len(paths) // _FEW))
    with ExitStack() as stack:
        children = [stack.enter_context(_child(root)) for _ in range(count)]
        shares = [paths[start::count] for start in range(count)]
        reading = [asyncio.to_thread(_read, child, share, take) for child, share in zip(children, shares, strict=True)]
        try:
            await undisturbed(asyncio.wait_for(asyncio.gather(*reading), _SECONDS), partial(_kill, children))
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            logging.getLogger("marvin.workspace").warning("the repo map lacks files: %r", error)
        finally:
            _kill(children)


def content(root: Root, path: str) -> bytes:
    """What is in the file ``path``, no more of it than tells that it is too large; nothing when it cannot be read."""
    try:
        with os.fdopen(root.open(path), "rb", buffering=0) as file:
            head = file.read(8192)
            return head if len(head) < 8192 or b"\0" in head else head + (file.read(LARGEST) or b"")
    except (OSError, ToolError):
        return b""


def _child(root: Root) -> "Popen[bytes]":
    command = (sys.executable, "-P", "-m", f"{__package__}.child", str(root.path))
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=Path(__file__).parent)


def _read(child: "Popen[bytes]", paths: Sequence[str], take: Callable[[str, Facts], None]) -> None:
    """Have ``child`` scan ``paths``. Raises OSError or EOFError when it ends before that."""
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as stdin:
        stdin.write(msgspec.msgpack.encode([os.fsencode(path) for path in paths]))
    missing = len(paths)
    while missing:
        if len(length := child.stdout.read(_LENGTH)) < _LENGTH:
            raise EOFError("a process that scans files has ended")
        frame = msgspec.msgpack.decode(child.stdout.read(int.from_bytes(length, "big")), type=Scanned)
        for path, facts in frame:
            take(os.fsdecode(path), facts)
        missing -= len(frame)


def _kill(children: Sequence["Popen[bytes]"]) -> None:
    """End the processes, and so the threads that read from them."""
    for child in children:
        child.kill()
