"""The scripts that a command would run and that were changed in this session: the person is to see them first."""

import hashlib
import itertools
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from marvin_server.agent.shell.running import INTERPRETERS
from marvin_server.agent.shell.subcommands import Parsed, Subcommand
from marvin_server.errors import ToolError
from marvin_server.events import Script
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.workspace import Workspace

_ROOM = 1_000_000  # bytes
_MOST_PLACES = 64
_UNSAVED = "[open in the editor with changes that are not saved; this is on disk, and runs]\n"
_UNKNOWN = Script("?", "[runs a script that cannot be shown: only bash can tell which one]", "")
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
    after ``since`` (seconds since the epoch), whoever changed them, as they are on disk: of one that is open with
    unsaved changes a first line says so. Of all together 1,000,000 bytes are read: one that does not fit in what is
    left is named with its size and the time of its change. It has no digest, nor has the one that stands for those that
    cannot be told.

    The time of the change is the one that the system keeps and no program can set.
    """
    places, unknown, room = _visited(parsed, workspace), False, _ROOM
    found: dict[str, Script] = {}
    for subcommand in parsed.subcommands:
        for name in _programs(subcommand):
            if name is None or (None in places and not name.startswith("/")):
                unknown = True
                continue
            for place in filter(None, places):
                changed = _changed(workspace, str(PurePosixPath(place, name)), since)
                if changed and changed[0] not in found:
                    path, status = changed
                    found[path] = _shown(workspace, path, status, room)
                    room -= status.st_size if found[path].digest else 0
    return tuple(found.values()) + ((_UNKNOWN,) if unknown else ())


def _visited(parsed: Parsed, workspace: Workspace) -> dict[str | None, None]:
    """The folders, from the root, in which something may run; None among them when others may be."""
    places: dict[str | None, None] = {workspace.working_dir: None}
    for subcommand in parsed.subcommands:
        for folder in _folders(subcommand):
            if folder is None or len(places) > _MOST_PLACES:
                places[None] = None
                continue
            for place in [place for place in places if place is not None]:
                with suppress(ToolError):
                    places[workspace.locate(str(workspace.root.path / place / folder))] = None
    return places


def _folders(subcommand: Subcommand) -> Iterator[str | None]:
    """Where a sub-command goes; None for a folder that only bash can tell."""
    if not subcommand.moves:
        return
    words = subcommand.words[1:]
    if subcommand.words[0].value in {"cd", "pushd", "popd"}:
        yield from (word.value for word in words if not word.known.startswith("-"))
        return
    if any(word.value is None for word in words):
        yield None
    yield from _after([word.value or "" for word in words], ("-C", "--chdir"))


def _programs(subcommand: Subcommand) -> Iterator[str | None]:
    """The names of files that a sub-command may run, None for one that only bash can tell."""
    values = [word.value or word.known for word in subcommand.words]
    if not values:
        return
    name, arguments = values[0].rpartition("/")[2], values[1:]
    named = name in {"source", "."} or INTERPRETERS.fullmatch(name)
    options = (*_RECIPES[name][1], "-C", "--directory") if name in _RECIPES else (_FILE_OPTION.get(name, ""),)
    for before, word in itertools.pairwise(subcommand.words):
        follows = any(options) and (before.value in options or word.known.startswith(options))
        if word.value is None and (named or follows):
            yield None
    if subcommand.words[0].value is None or (
        named and any(r.reads and not r.target.value for r in subcommand.redirects)
    ):
        yield None
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
        joined = re.fullmatch(r"-[A-Za-z]*?m([\w.]+)", argument)
        if joined or (re.fullmatch(r"-[A-Za-z]*m", before) and re.fullmatch(r"[\w.]+", argument)):
            module = (joined[1] if joined else argument).replace(".", "/")
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


def _changed(workspace: Workspace, path: str, since: float) -> tuple[str, os.stat_result] | None:
    """Where ``path`` truly is and its status, of a file that was changed at or after ``since``."""
    try:
        relative = workspace.root.place(workspace.locate(str(workspace.root.path / path)))
        status = workspace.root.stat(relative)
    except (OSError, ToolError):
        return None
    return (relative, status) if stat.S_ISREG(status.st_mode) and status.st_ctime >= since else None


def _shown(workspace: Workspace, path: str, status: os.stat_result, room: int) -> Script:
    """The file as the person sees it; one of more than ``room`` bytes is not read, and has no digest."""
    seconds, nanoseconds = divmod(status.st_ctime_ns, 1_000_000_000)
    state = f"{status.st_size:,} bytes, changed at {seconds}.{nanoseconds:09}"
    if status.st_size > room:
        return Script(path, f"[too long to show: {state}]", "")
    try:
        with os.fdopen(workspace.root.open(path), "rb") as file:
            content = file.read(status.st_size + 1)
    except (OSError, ToolError):
        return Script(path, f"[cannot be read: {state}]", "")
    if len(content) != status.st_size:
        return Script(path, f"[is being changed: {state}]", "")
    digest = hashlib.sha256(content).hexdigest()
    if b"\0" in content[:8192]:
        return Script(path, f"[a program of {len(content):,} bytes]", digest)
    text = readable(content.decode("utf-8", "surrogateescape"))
    return Script(path, f"{_UNSAVED if _is_unsaved(workspace, path) else ''}{text}", digest)


def _is_unsaved(workspace: Workspace, path: str) -> bool:
    try:
        buffer = workspace.open_files.at(workspace.root, path)
    except ToolError:
        return True
    return buffer is not None and buffer.is_dirty
