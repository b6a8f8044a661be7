"""Scans files in a process of its own: ``python -P -m marvin_server.workspace.repo_map.child ROOT``.

Standard input: shares of the files, a msgpack array of arrays of pairs of a path, as bytes, and a stamp, to its end.
Standard output: a frame for each share, which is a length in four bytes and a segment. It ends when nobody reads them.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

import msgspec

from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.reading import contents
from marvin_server.workspace.repo_map.scan import Facts, scan
from marvin_server.workspace.repo_map.segment import segment
from marvin_server.workspace.repo_map.survey import Stamp

_SECONDS = 2.0  # for a file

Shares = list[list[tuple[bytes, Stamp]]]


class _TooLong(Exception):
    pass


def main() -> None:
    """Scan until all is done or standard output is closed."""
    gc.disable()
    signal.signal(signal.SIGALRM, _raise)
    root = Root(Path(sys.argv[1]))
    for share in msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Shares):
        encoded = msgspec.msgpack.encode(segment(_scanned(root, share)))
        sys.stdout.buffer.write(len(encoded).to_bytes(4, "big") + encoded)
        sys.stdout.buffer.flush()


def _scanned(root: Root, share: Iterable[tuple[bytes, Stamp]]) -> Iterator[tuple[str, Stamp, Facts]]:
    stamps = {os.fsdecode(path): stamp for path, stamp in share}
    for path, content in contents(root, stamps):
        yield path, stamps[path], _facts(path, content)


def _facts(path: str, content: bytes) -> Facts:
    """The facts of a file; of one that takes too long, none."""
    try:
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        return scan(path, content)
    except _TooLong:
        return scan(path, b"")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _raise(number: int, frame: FrameType | None) -> None:
    raise _TooLong


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(1)
