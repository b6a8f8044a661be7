"""What a terminal offers while a person types: files, commands and what may follow them, tools, and earlier lines."""

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_cli.view.base import Candidate, Choice
from marvin_server.errors import MarvinError
from marvin_server.workspace.file_names import FileNames
from marvin_server.workspace.names import printable

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop
    from marvin_cli.repl.person import Person

_MOST = 50
_NAME = re.compile(r"/([\w-]*)")
_ARGUMENT = re.compile(r"/([\w-]+)\s+(.*)", re.DOTALL)
_PATH = re.compile(r"(?:^|[\s=:\"'])((?:~|\.{1,2})?/\S*)$")
_WORD = re.compile(r"(?:^|\s)(\S*)$")
_TOOL = re.compile(r"(?:^|\s)([a-z]+_[a-z_]*)$")


class Completions:
    """The ``Source`` of a view. Until there is a ``loop``, only earlier lines are known."""

    def __init__(self, person: "Person") -> None:
        self.loop: Loop | None = None
        self._person = person
        self._names = FileNames()

    def earlier(self) -> Sequence[str]:
        """See ``Source``."""
        return self._person.profile.history.entries()

    def keep(self, text: str) -> None:
        """See ``Source``."""
        self._person.keep(text)

    async def complete(self, text: str, cursor: int) -> Sequence[Candidate]:
        """See ``Source``."""
        before, loop = text[:cursor], self.loop
        if loop is None or not loop.conversation.is_open:
            return ()
        from marvin_server.workspace import mentions

        if found := await mentions.meant(before, self._names, loop.conversation.directory):
            letters, meant = found
            return [Candidate(each.text, len(letters) + 1, each.label, each.folder or "") for each in meant]
        if loop.shell_mode or before.startswith("!"):
            path = _WORD.search(before)
            return await asyncio.to_thread(_paths, path[1].lstrip("!"), loop.shell.directory) if path else ()
        if name := _NAME.fullmatch(before):
            return await _commands(loop, name[1])
        return await _words(loop, before)


async def _words(loop: "Loop", before: str) -> Sequence[Candidate]:
    """What may follow the name of a command; a path; a tool's name."""
    if given := _ARGUMENT.fullmatch(before):
        return await _arguments(loop, given[1], given[2])
    if path := _PATH.search(before):
        return await asyncio.to_thread(_paths, path[1], loop.conversation.directory)
    if tool := _TOOL.search(before):
        entries = loop.conversation.opened.registry.entries.values()
        return [
            Candidate(each.name, len(tool[1]), each.name, each.toolset)
            for each in entries
            if each.name.startswith(tool[1])
        ]
    return ()


async def _commands(loop: "Loop", letters: str) -> list[Candidate]:
    from marvin_cli.repl import commands

    known = await commands.known(loop)
    return [
        Candidate(f"/{each.name}{' ' if each.argument else ''}", len(letters) + 1, f"/{each.name}", each.description)
        for each in sorted(known.values(), key=lambda each: each.name)
        if each.name.startswith(letters)
    ]


async def _arguments(loop: "Loop", name: str, letters: str) -> list[Candidate]:
    from marvin_cli.repl import commands

    action = (await commands.known(loop)).get(name)
    if action is None or action.choices is None:
        return []
    try:
        choices = await action.choices(loop)
    except MarvinError:
        return []
    return [
        Candidate(each.value, len(letters), each.label, each.description)
        for each in list(_fitting(choices, letters))[:_MOST]
    ]


def _fitting(choices: Sequence[Choice], letters: str) -> Iterable[Choice]:
    """Those that begin with the letters, then those that hold them."""
    wanted = letters.lower()
    texts = [(each, (each.value.lower(), each.label.lower())) for each in choices]
    yield from (each for each, of in texts if any(text.startswith(wanted) for text in of))
    yield from (
        each
        for each, of in texts
        if any(wanted in text for text in of) and not any(text.startswith(wanted) for text in of)
    )


def _paths(typed: str, directory: Path) -> list[Candidate]:
    """The files that a path may go on with; hidden ones where its last name begins with a dot."""
    above, _, name = typed.rpartition("/")
    folder = directory / Path(f"{above}/" if above or typed.startswith("/") else ".").expanduser()
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.name, entry.is_dir())
                for entry in entries
                if entry.name.startswith(name) and (name or not entry.name.startswith("."))
            ]
    except OSError:
        return []
    return [
        Candidate(f"{each}{'/' if is_folder else ''}", len(name), printable(f"{each}{'/' if is_folder else ''}"))
        for each, is_folder in sorted(found)[:_MOST]
    ]
