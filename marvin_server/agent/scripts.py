"""The scripts that a command would run and that were changed in this session: the person is to see them first."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from marvin_server.agent.shell.running import INTERPRETERS
from marvin_server.agent.shell.subcommands import Parsed, Subcommand
from marvin_server.errors import ToolError
from marvin_server.events import Script
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace

_CHARACTERS = 20_000
_LARGEST = 1_000_000  # bytes
# Programs that run what a file of a fixed name says, and the options that name another.
_RECIPES = {
    "make": (("GNUmakefile", "makefile", "Makefile"), ("-f", "--file", "--makefile")),
    "gmake": (("GNUmakefile", "makefile", "Makefile"), ("-f", "--file", "--makefile")),
    "just": (("justfile", "Justfile", ".justfile"), ("-f", "--justfile")),
    "rake": (("Rakefile", "rakefile"), ("-f", "--rakefile")),
    "task": (("Taskfile.yml", "Taskfile.yaml"), ("-t", "--taskfile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), (("package.json",), ("--prefix", "-C", "--cwd", "--dir"))),
}
_FILE_OPTION = {"awk": "-f", "gawk": "-f", "mawk": "-f", "sed": "-f"}


def scripts(parsed: Parsed, workspace: Workspace, since: float) -> tuple[Script, ...]:
    """The files beneath the root that ``parsed`` would run as programs and whose content or name was changed at or
    after ``since`` (seconds since the epoch), whoever changed them; each cut at 20,000 characters.

    The time of the change is the one that the system keeps and no program can set.
    """
    places = dict.fromkeys([workspace.working_dir, *_visited(parsed, workspace)])
    found: dict[str, Script] = {}
    for subcommand in parsed.subcommands:
        for name in _programs(subcommand):
            for place in places:
                script = _changed(workspace, str(PurePosixPath(place, name)), since)
                if script:
                    found.setdefault(script.path, script)
    return tuple(found.values())


def _visited(parsed: Parsed, workspace: Workspace) -> Iterator[str]:
    for subcommand in parsed.subcommands:
        values = [word.value for word in subcommand.words]
        if len(values) == 2 and values[0] in {"cd", "pushd"} and values[1]:
            try:
                yield workspace.locate(values[1])
            except ToolError:
                continue


def _programs(subcommand: Subcommand) -> Iterator[str]:
    """The names of files that a sub-command may run."""
    values = [word.value or word.known for word in subcommand.words]
    if not values:
        return
    name, arguments = values[0].rpartition("/")[2], values[1:]
    if "/" in values[0]:
        yield values[0]
    if name in {"source", "."}:
        yield from arguments[:1]
    elif INTERPRETERS.fullmatch(name):
        yield from _interpreted(arguments)
        yield from (r.target.value for r in subcommand.redirects if r.operator == "<" and r.target.value)
    elif name in _RECIPES:
        usual, options = _RECIPES[name]
        folders = _after(arguments, ("-C", "--directory", "--prefix", "--cwd", "--dir"))
        yield from (f"{folder}/{file}" for folder in [".", *folders] for file in usual)
        yield from _after(arguments, options)
    elif name in _FILE_OPTION:
        yield from _after(arguments, (_FILE_OPTION[name],))


def _interpreted(arguments: Sequence[str]) -> Iterator[str]:
    """The script among an interpreter's arguments: any word that could be one, and the file of a module."""
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before == "-m" and re.fullmatch(r"[\w.]+", argument):
            module = argument.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py")
        elif not argument.startswith("-"):
            yield argument


def _after(arguments: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """The values of ``options``, whether they stand in the next word or in the same."""
    for index, argument in enumerate(arguments):
        for option in options:
            if argument == option and index + 1 < len(arguments):
                yield arguments[index + 1]
            elif argument.startswith(option) and argument != option:
                yield argument[len(option) :].removeprefix("=")


def _changed(workspace: Workspace, path: str, since: float) -> Script | None:
    try:
        relative = workspace.root.place(workspace.locate(str(workspace.root.path / path)))
        status = workspace.root.stat(relative)
        if not stat.S_ISREG(status.st_mode) or status.st_ctime < since:
            return None
        if status.st_size > _LARGEST:
            version = f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"
            return Script(relative, f"[{status.st_size:,} bytes, too many to show]", version)
        fd = workspace.root.open(relative)
        with os.fdopen(fd, "rb") as file:
            content = file.read()
    except (OSError, ToolError):
        return None
    digest = hashlib.sha256(content).hexdigest()
    if b"\0" in content[:8192]:
        return Script(relative, f"[a program of {len(content):,} bytes]", digest)
    text = readable(content.decode("utf-8", "surrogateescape"))
    cut = f"\n[… {len(text) - _CHARACTERS:,} more characters]" if len(text) > _CHARACTERS else ""
    return Script(relative, text[:_CHARACTERS] + cut, digest)
