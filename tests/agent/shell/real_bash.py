"""Real bash with a PATH of programs that only write down how they were called."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from marvin_server.agent.shell.subcommands import Parsed
from marvin_server.agent.shell.words import Word
from tests.patience import SECONDS

# These are real, so that what they run is run.
_REAL = ("bash", "sh", "env", "nice", "nohup", "timeout", "setsid", "stdbuf", "xargs", "find", "ionice")
_LOGGED = (*"abcdefgxyz", "rm", "ls", "cat", "grep", "evil", "git", "make", "python3", "pytest", "curl", "tee", "sudo")
_PROGRAM = """#!/bin/sh
printf '%s\\037' "${0##*/}" "$@" > "$CALLS/$$"
"""


class RealBash:
    """Runs texts in an empty folder beneath ``folder`` and tells which programs ran with which arguments."""

    def __init__(self, folder: Path) -> None:
        self._programs, self._calls, self._cwd = folder / "programs", folder / "calls", folder / "cwd"
        self._programs.mkdir(parents=True)
        for name in _LOGGED:
            program = self._programs / name
            program.write_text(_PROGRAM)
            program.chmod(0o755)
        for name in _REAL:
            if found := shutil.which(name):
                (self._programs / name).symlink_to(os.path.realpath(found))

    def calls(self, text: str) -> set[tuple[str, ...]]:
        """The argument lists of all logged programs that ``text`` runs."""
        for folder in (self._calls, self._cwd):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        (self._cwd / "file").write_text("evil from file\n")
        (self._cwd / "-dash").write_text("")
        environ = {"PATH": str(self._programs), "CALLS": str(self._calls), "HOME": str(self._cwd), "LC_ALL": "C.UTF-8"}
        quiet = subprocess.DEVNULL
        argv = ["/bin/bash", "--norc", "-c", text]
        with subprocess.Popen(
            argv, cwd=self._cwd, env=environ, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        ) as bash:
            try:
                bash.wait(SECONDS)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(bash.pid, signal.SIGKILL)
        records = [file.read_text(errors="replace") for file in self._calls.iterdir()]
        return {tuple(record.split("\x1f")[:-1]) for record in records if record}


def foreseen(parsed: Parsed, argv: Sequence[str]) -> bool:
    """Whether a sub-command of ``parsed`` stands for the call ``argv``."""
    return any(sub.words and _stands_for(sub.words, argv) for sub in parsed.subcommands)


def _stands_for(words: Sequence[Word], argv: Sequence[str]) -> bool:
    if not words:
        return not argv
    word, rest = words[0], words[1:]
    if word.value is not None:
        return bool(argv) and _is(word.value, argv[0]) and _stands_for(rest, argv[1:])
    if any(_stands_for(rest, argv[count:]) for count in range(1, len(argv) + 1) if argv[0].startswith(word.known)):
        return True
    return not word.known and _stands_for(rest, argv)


def _is(value: str, argument: str) -> bool:
    return argument == value or (argument == value.rpartition("/")[2] and argument != "")
