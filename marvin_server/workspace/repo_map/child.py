"""Scans files in a process of its own: ``python -P -m marvin_server.workspace.repo_map.child ROOT``.

Standard input: the paths, a msgpack array of byte strings, to its end. Standard output: frames, each a length in four
bytes and a msgpack array of pairs of a path and its facts (see ``scanning.Scanned``). It ends when nobody reads them.
"""

import gc
import os
import signal
import sys
from pathlib import Path
from types import FrameType

import msgspec

from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.scan import Facts, scan
from marvin_server.workspace.repo_map.scanning import Scanned, content

_FRAME = 200  # files
_SECONDS = 2.0  # for a file


class _TooLong(Exception):
    pass


def main() -> None:
    """Scan until all is done or standard output is closed."""
    gc.disable()
    signal.signal(signal.SIGALRM, _raise)
    root = Root(Path(sys.argv[1]))
    paths = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[bytes])
    for start in range(0, len(paths), _FRAME):
        frame: Scanned = [(path, _facts(root, os.fsdecode(path))) for path in paths[start : start + _FRAME]]
        encoded = msgspec.msgpack.encode(frame)
        sys.stdout.buffer.write(len(encoded).to_bytes(4, "big") + encoded)
        sys.stdout.buffer.flush()


def _facts(root: Root, path: str) -> Facts:
    """The facts of a file; of one that takes too long, those of its path."""
    try:
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        return scan(path, content(root, path))
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
