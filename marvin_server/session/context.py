"""What the model is told in one session before the conversation: the person's and the project's files, skills, pins."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.agent.prompt import Block, Knowledge, Prompt, Written, blocks, prompt
from marvin_server.errors import PermissionNeeded, ToolError, UsageError
from marvin_server.events import Event, Notice
from marvin_server.messages import Message
from marvin_server.session import instructions, skills
from marvin_server.session.history import in_view
from marvin_server.session.instructions import OwnFiles
from marvin_server.session.project import ProjectFile
from marvin_server.session.skills import Skill
from marvin_server.session.trust import Counting, Trust
from marvin_server.settings import Settings
from marvin_server.workspace.encodings import readable
from marvin_server.workspace.names import printable
from marvin_server.workspace.workspace import Workspace

if TYPE_CHECKING:
    from marvin_server.session.store import Store
    from marvin_server.session.toolbox import SessionToolbox

_LONGEST_PIN = 100_000  # characters
Blocks = tuple[tuple[Block, bool], ...]


class Sources(Struct, frozen=True):
    """What a prompt is made from, besides the person's own files: ``readonly`` says whether nothing may be changed at
    the moment, ``redact`` blots out secrets, ``schema`` is what a final answer must match."""

    workspace: Workspace
    trust: Trust
    toolbox: "SessionToolbox"
    readonly: Callable[[], bool]
    redact: Callable[[str], str]
    schema: Mapping[str, object] | None = None


class Material(Struct, frozen=True):
    """What was read for a prompt at one moment; ``dropped`` are names of blocks."""

    own: OwnFiles = OwnFiles()
    person: str = ""
    project: tuple[ProjectFile, ...] = ()
    skills: Mapping[str, Skill] = {}
    earlier: tuple[str, ...] = ()
    pinned: tuple[Written, ...] = ()
    dropped: frozenset[str] = frozenset()


class Context:
    """The prompt of the session ``session_id``, as it was when ``settle`` was awaited last.

    Outside ``coding`` mode it has what was said in the person's other conversations outside that mode. ``repo_map``
    may be set before a turn.
    """

    def __init__(self, settings: Settings, store: "Store", session_id: str, sources: Sources, *, coding: bool) -> None:
        self._settings = settings
        self._store = store
        self._id = session_id
        self._sources, self._workspace, self._trust = sources, sources.workspace, sources.trust
        self._coding = coding
        self._earlier: tuple[str, ...] | None = None
        self._now = Material()
        self._told: set[str] = set()
        self.repo_map = ""

    async def settle(self, emit: Callable[[Event], None]) -> bool:
        """Read all files as they are now, before a turn; False when the person wants it to stop. See ``Trust.settle``.
        What cannot be taken is told before one turn only."""
        if not await self._trust.settle(emit):
            return False
        self._now = await self._read(self._trust.counting, emit, self._told)
        self._earlier = self._now.earlier
        return True

    async def look(self, emit: Callable[[Event], None]) -> Blocks:
        """Every block of a turn that begins now, as ``blocks`` gives them, and nothing that a turn reads is changed.
        Nobody is asked; what cannot be taken is told each time, unless a turn has told it."""
        return self._blocks(await self._read(await self._trust.look(emit), emit, set(self._told)))

    @property
    def prompt(self) -> Prompt:
        """The system prompt of a request that is sent now."""
        return prompt(blocks(self._knowledge(self._now, self._now.dropped)))

    @property
    def skills(self) -> Mapping[str, Skill]:
        """The skills that the model may read, by their names."""
        return self._now.skills

    def blocks(self) -> Blocks:
        """Every block, each with whether it is sent; those that are not were dropped."""
        return self._blocks(self._now)

    def conversation(self) -> list[Message]:
        """What follows the prompt: all that was said, as far as it is still sent. It may block."""
        with self._store.beside() as store:
            return in_view(store, self._id)

    async def pin(self, paths: Sequence[str]) -> None:
        """Keep these files in the prompt from now on. Raises ``UsageError``, with nothing changed, for one that cannot
        be read without a question."""
        located: list[str] = []
        for path in paths:
            try:
                located.append(self._workspace.locate(path))
                await self._workspace.apart(path, lambda path=path: self._workspace.read(path))
            except PermissionNeeded as needed:
                raise UsageError(f"{printable(path)} cannot be pinned: {needed.reason}") from None
            except ToolError as error:
                raise UsageError(_reason(error)) from None
        for path in located:
            self._store.context_choices.add(self._id, "pin", path)

    async def drop(self, name: str) -> None:
        """Unpin the file, or go without the block, of this name. Raises ``UsageError`` where neither is there."""
        choices = self._store.context_choices
        if name in choices.of(self._id)["pin"]:
            choices.remove(self._id, "pin", name)
            return
        known = [block for block, is_sent in await self.look(lambda _: None) if is_sent and block.can_drop]
        if name not in {block.name for block in known}:
            names = ", ".join(block.name for block in known) or "none"
            raise UsageError(f"there is nothing called {name!r} that can be dropped; there is: {names}")
        choices.add(self._id, "drop", name)

    def restore(self, name: str) -> None:
        """Have a block back that was dropped. Raises ``UsageError`` where none of this name was."""
        choices = self._store.context_choices
        dropped = choices.of(self._id)["drop"]
        if name not in dropped:
            raise UsageError(f"{name!r} was not dropped; these were: {', '.join(dropped) or 'none'}")
        choices.remove(self._id, "drop", name)

    def _blocks(self, now: Material) -> Blocks:
        sent = {(block.kind, block.name) for block in blocks(self._knowledge(now, now.dropped))}
        return tuple((block, (block.kind, block.name) in sent) for block in blocks(self._knowledge(now, frozenset())))

    def _knowledge(self, now: Material, without: frozenset[str]) -> Knowledge:
        return Knowledge(
            working_dir=printable(str(self._workspace.directory)),
            coding=self._coding,
            readonly=self._sources.readonly(),
            other_toolsets=self._sources.toolbox.others(),
            schema=self._sources.schema,
            conventions=now.own.conventions,
            own=now.own.instructions,
            person=now.person,
            project=[Written(file.path, file.text) for file in now.project],
            skills={skill.name: skill.description for skill in now.skills.values()},
            earlier=now.earlier,
            repo_map=self.repo_map,
            pins=now.pinned,
            without=without,
        )

    async def _read(self, counting: Counting, emit: Callable[[Event], None], told: set[str]) -> Material:
        """What is there now. What cannot be taken is told, unless it is in ``told``, and is in it afterwards."""
        own, person, found, lines = await asyncio.to_thread(self._read_files, counting)
        choices, problems = self._store.context_choices.of(self._id), list(lines)
        pinned = tuple([await self._pin(path, problems) for path in choices["pin"]])
        earlier = self._recalled() if self._earlier is None else self._earlier
        for problem in problems:
            if problem not in told:
                emit(Notice("warning", problem))
        told.update(problems)
        return Material(own, person, counting.instructions, found, earlier, pinned, frozenset(choices["drop"]))

    def _read_files(self, counting: Counting) -> tuple[OwnFiles, str, Mapping[str, Skill], tuple[str, ...]]:
        """The person's own files, what is known of them, the skills, and lines on what cannot be taken."""
        places, environ = self._settings.paths, self._settings.environ
        own = instructions.read(places, environ, self._workspace.directory)
        of_person, problems = skills.of_person(places.skills)
        of_project, more = skills.of_project(counting.skills)
        found = dict(sorted({**skills.bundled(), **of_project, **of_person}.items()))
        return own, _about(self._settings), found, (*own.problems, *problems, *more)

    async def _pin(self, path: str, problems: list[str]) -> Written:
        name = self._workspace.named(path)
        try:
            document = await self._workspace.apart(name, lambda: self._workspace.read(name))
        except (ToolError, PermissionNeeded) as error:
            problems.append(f"the pin {printable(path)} cannot be read: {_reason(error)}")
            return Written(printable(path), f"[it cannot be read: {_reason(error)}]")
        text = self._sources.redact(readable(document.text))
        if len(text) > _LONGEST_PIN:
            text = f"{text[:_LONGEST_PIN]}\n[cut: the first {_LONGEST_PIN:,} of {len(text):,} characters]"
        return Written(printable(path), text)

    def _recalled(self) -> tuple[str, ...]:
        if self._coding:
            return ()
        from marvin_server.session import recall

        return recall.lines(self._store, self._id)


def _about(settings: Settings) -> str:
    """What the person has written of themselves. Most have not, and pay for a look alone."""
    folder: Path = settings.paths.profiles / settings.profile
    if not folder.is_dir():
        return ""
    from marvin_server.profiles.about import about
    from marvin_server.profiles.profile import Profile

    return about(Profile(settings.paths, settings.profile))


def _reason(error: ToolError) -> str:
    """The first line of an error without the words that announce a listing, which is for models."""
    line = str(error).partition("\n")[0]
    return f"{line.rpartition('. ')[0]}." if line.endswith(":") else line
