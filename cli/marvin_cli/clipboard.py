"""The picture that is in the clipboard, read with whichever program for that is installed."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence

from marvin_server.errors import MarvinError
from marvin_server.sanitise import one_line

_SECONDS = 5.0
_MOST_TYPES = 100_000
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_HELP = "install wl-clipboard (Wayland), xclip (X11) or pngpaste (macOS)"

Run = Callable[[Sequence[str], int], bytes]


class _Failed(Exception):
    """A program gives nothing, and says why."""


def picture(environ: Mapping[str, str], limit: int) -> bytes:
    """The picture's bytes; of one that is larger than ``limit`` the first ``limit`` + 1.

    The programs run with ``environ``, and are looked for on its ``PATH``. Raises ``MarvinError`` when none is there or
    none has a picture. It may take some seconds: call it in a thread where somebody else waits.
    """
    why = ""
    for program, paste in _PROGRAMS.items():
        if (path := shutil.which(program, path=environ.get("PATH"))) is None:
            continue

        def run(words: Sequence[str], most: int, path: str = path) -> bytes:
            return _output((path, *words), environ, most)

        try:
            return paste(run, limit)
        except _Failed as failed:
            why = f"{program}: {failed}"
    if not why:
        raise MarvinError(f"the clipboard cannot be read: {_HELP}")
    raise MarvinError(f"there is no picture in the clipboard ({why}); copy one, or name a file")


def _wayland(run: Run, limit: int) -> bytes:
    return run(("--no-newline", "--type", _best(run(("--list-types",), _MOST_TYPES))), limit)


def _x11(run: Run, limit: int) -> bytes:
    clipboard = ("-selection", "clipboard", "-out", "-target")
    return run((*clipboard, _best(run((*clipboard, "TARGETS"), _MOST_TYPES))), limit)


def _pngpaste(run: Run, limit: int) -> bytes:
    return run(("-",), limit)


def _applescript(run: Run, limit: int) -> bytes:
    # It prints «data PNGf89504E47…»: the bytes as hexadecimal digits.
    printed = run(("-e", "get the clipboard as «class PNGf»"), 2 * limit + 100)
    digits = re.search(rb"PNGf((?:[0-9A-F]{2})+)", printed)
    if digits is None:
        raise _Failed("no picture")
    return bytes.fromhex(digits[1].decode())[: limit + 1]


_PROGRAMS: Mapping[str, Callable[[Run, int], bytes]] = {
    "wl-paste": _wayland,
    "xclip": _x11,
    "pngpaste": _pngpaste,
    "osascript": _applescript,
}


def _best(offered: bytes) -> str:
    types = offered.decode("utf-8", "replace").split()
    found = next((wanted for wanted in _TYPES if wanted in types), None)
    if found is None:
        raise _Failed("it holds something else")
    return found


def _output(command: Sequence[str], environ: Mapping[str, str], limit: int) -> bytes:
    """What ``command`` prints, up to ``limit`` + 1 bytes. Raises ``_Failed`` when it fails or takes too long."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=said,
                env=environ,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _Failed(f"no answer within {_SECONDS:g} s") from None
        except OSError as error:
            raise _Failed(error.strerror) from None
        printed.seek(0)
        said.seek(0)
        if done.returncode != 0:
            raise _Failed(one_line(said.read(1000).decode("utf-8", "replace"), 200) or f"exit code {done.returncode}")
        return printed.read(limit + 1)
