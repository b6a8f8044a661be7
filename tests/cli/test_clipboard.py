"""The clipboard, with scripts in the place of the programs that read it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from marvin_cli import clipboard

from marvin_server.errors import MarvinError

PNG = b"\x89PNG\r\n\x1a\n\0 and the rest"
Install = Callable[[str, str], Mapping[str, str]]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Put a shell script of this name on a PATH of its own, and give the environment with that."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "picture.png").write_bytes(PNG)

    def put(name: str, script: str) -> Mapping[str, str]:
        file = programs / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return {"PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin", "PICTURE": str(tmp_path / "picture.png")}

    return put


WAYLAND = """
case "$*" in
  --list-types) printf 'text/html\\nimage/jpeg\\nimage/png\\n' ;;
  "--no-newline --type image/png") cat "$PICTURE" ;;
  *) exit 64 ;;
esac
"""
X11 = """
case "$*" in
  *"-target TARGETS") printf 'TIMESTAMP\\nimage/png\\n' ;;
  "-selection clipboard -out -target image/png") cat "$PICTURE" ;;
  *) exit 64 ;;
esac
"""
APPLESCRIPT = """printf '«data PNGf'; od -An -v -tx1 "$PICTURE" | tr -d ' \\n' | tr a-f A-F; printf '»\\n'"""


@pytest.mark.parametrize(
    ("program", "script"),
    [("wl-paste", WAYLAND), ("xclip", X11), ("pngpaste", 'cat "$PICTURE"'), ("osascript", APPLESCRIPT)],
)
def test_whichever_program_is_there_gives_the_picture(program: str, script: str, install: Install) -> None:
    assert clipboard.picture(install(program, script), 1000) == PNG


def test_a_program_that_cannot_is_passed_over(install: Install) -> None:
    install("wl-paste", "echo 'Failed to connect to a Wayland server' >&2; exit 1")
    assert clipboard.picture(install("xclip", X11), 1000) == PNG


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'Nothing is copied' >&2; exit 1", "wl-paste: Nothing is copied"),
        ("exit 3", "wl-paste: exit code 3"),
        ("echo text/plain", "wl-paste: it holds something else"),
    ],
)
def test_a_clipboard_without_a_picture_says_why(script: str, why: str, install: Install) -> None:
    with pytest.raises(MarvinError) as caught:
        clipboard.picture(install("wl-paste", script), 1000)
    assert str(caught.value) == f"there is no picture in the clipboard ({why}); copy one, or name a file"


def test_without_any_program_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MarvinError, match="install wl-clipboard"):
        clipboard.picture({"PATH": str(tmp_path)}, 1000)


def test_no_more_than_the_limit_is_read(install: Install) -> None:
    for program, script in (("wl-paste", WAYLAND), ("osascript", APPLESCRIPT)):
        environ = install(program, script)
        assert clipboard.picture(environ, 10) == PNG[:11]
        (Path(environ["PATH"].partition(os.pathsep)[0]) / program).unlink()
