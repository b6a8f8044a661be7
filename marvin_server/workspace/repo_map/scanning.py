"""Scans many files: a few in a thread, more of them in processes of their own, so that no loop and no lock waits."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import accumulate
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event

import msgspec

from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.reading import contents
from marvin_server.workspace.repo_map.scan import LARGEST, Facts, scan
from marvin_server.workspace.repo_map.segment import segment
from marvin_server.workspace.repo_map.survey import Stamp
from marvin_server.workspace.undisturbed import undisturbed

_FEW = 100
_SMALL = 300_000  # bytes in all
_PROCESSES = 4
_SHARE = 2_500  # files, about
_OPENING = 10_000  # bytes that are scanned in the time that it takes to open a file
_SECONDS = 120.0
_LENGTH = 4  # bytes that tell a frame's

Share = list[tuple[str, Stamp]]


async def scan_all(root: Root, files: Mapping[str, Stamp], take: Callable[[bytes], None]) -> None:
    """Call ``take``, in threads, with the segments that the files make up, as msgpack, as they come.

    What is in a file that cannot be read counts as nothing. All that was started has ended on return, cancellation
    included. What processes fail to do within two minutes is left out.
    """
    if len(files) <= _FEW and sum(size for _, size, _ in files.values()) <= _SMALL:
        stopped = Event()
        try:
            scanned = _one_after_the_other(root, files, stopped)
            await asyncio.to_thread(lambda: take(msgspec.msgpack.encode(segment(scanned))))
        finally:
            stopped.set()
        return
    count = min(os.cpu_count() or 1, _PROCESSES, -(-len(files) // _FEW))
    shares = _shares(files, count)
    with ExitStack() as stack:
        children = [stack.enter_context(_child(root)) for _ in range(count)]
        reading = [
            asyncio.to_thread(_read, child, shares[number::count], take) for number, child in enumerate(children)
        ]
        try:
            all_read = asyncio.gather(*reading, return_exceptions=True)
            results = await undisturbed(asyncio.wait_for(all_read, _SECONDS), partial(_kill, children))
        except TimeoutError as error:
            results = [error]
        finally:
            _kill(children)
    for error in filter(None, results):
        logging.getLogger("marvin.workspace").warning("the repo map lacks files: %r", error)


def _shares(files: Mapping[str, Stamp], count: int) -> list[Share]:
    """The files in the order of their paths, as neighbours have names in common, in a multiple of ``count`` runs that
    take about as long each."""
    number = count * -(-len(files) // (count * _SHARE))
    ordered = sorted(files.items())
    work = list(accumulate(min(size, LARGEST) + _OPENING for _, (_, size, _) in ordered))
    shares: list[Share] = [[] for _ in range(number)]
    for file, done in zip(ordered, work, strict=True):
        shares[(done - 1) * number // work[-1]].append(file)
    return shares


def _one_after_the_other(root: Root, files: Mapping[str, Stamp], stopped: Event) -> Iterator[tuple[str, Stamp, Facts]]:
    for path, content in contents(root, files):
        if stopped.is_set():
            return
        yield path, files[path], scan(path, content)


def _child(root: Root) -> "Popen[bytes]":
    command = (sys.executable, "-P", "-m", f"{__package__}.child", str(root.path))
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=Path(__file__).parent)


def _read(child: "Popen[bytes]", shares: Sequence[Share], take: Callable[[bytes], None]) -> None:
    """Have ``child`` scan ``shares``. Raises OSError or EOFError when it ends before that."""
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as stdin:
        stdin.write(msgspec.msgpack.encode([[(os.fsencode(path), stamp) for path, stamp in share] for share in shares]))
    for _ in shares:
        length = int.from_bytes(child.stdout.read(_LENGTH), "big")
        if len(encoded := child.stdout.read(length)) < max(1, length):
            raise EOFError("a process that scans files has ended")
        take(encoded)


def _kill(children: Sequence["Popen[bytes]"]) -> None:
    """End the processes, and so the threads that read from them."""
    for child in children:
        child.kill()
