"""The person's own editor ($VISUAL, $EDITOR): a text, or a file, in it."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from marvin_server.errors import UsageError

_FALLBACKS = ("sensible-editor", "nano", "vi")


def edited(text: str, environ: Mapping[str, str]) -> str:
    """What becomes of ``text`` in the editor, without the newline that editors add at the end. It blocks until the
    editor is closed. Raises ``UsageError`` when there is none, or it fails: nothing has changed then."""
    try:
        with tempfile.TemporaryDirectory(prefix="marvin-") as folder:
            file = Path(folder, "prompt.md")
            file.write_text(text, "utf-8")
            if code := edit(file, environ):
                raise UsageError(f"the editor ended with exit code {code}; what you had typed is kept")
            return file.read_text("utf-8", "replace").removesuffix("\n")
    except OSError as error:
        raise UsageError(f"the editor cannot have the text ({error.strerror}); what you had typed is kept") from error


def edit(file: Path, environ: Mapping[str, str]) -> int:
    """Have the person edit ``file``, until the editor is closed, and give its exit code. Raises ``UsageError`` when
    there is no editor."""
    named = (environ.get("VISUAL") or environ.get("EDITOR") or "").strip()
    for command in [named] if named else _FALLBACKS:
        try:
            return subprocess.run([*shlex.split(command), file], env=dict(environ), check=False).returncode
        except ValueError as error:
            raise UsageError(f"$EDITOR is {command!r}, which is no command: {error}") from error
        except OSError as error:
            if named:
                raise UsageError(f"{command}: {os.strerror(error.errno or 0)}; set $EDITOR to another") from error
    raise UsageError("there is no editor; name yours in $EDITOR")
