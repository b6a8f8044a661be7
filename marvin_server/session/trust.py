"""Which of a project's files count: those whose content a person has seen and accepted."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from marvin_server.agent.permissions import Permissions
from marvin_server.errors import StoreError
from marvin_server.events import Event, Notice, Permission
from marvin_server.messages import new_id
from marvin_server.session import project, skills
from marvin_server.session.project import Kind, Project, ProjectFile, ProjectSettings
from marvin_server.workspace.workspace import Workspace

RULE = "project files count once you have accepted this content"
_WHAT: dict[Kind, str] = {
    "instructions": "instructions for the model",
    "settings": "settings for Marvin",
    "skills": "skills for the model",
    "commands": "command",
}


class Acceptance(Struct, frozen=True, kw_only=True):
    """A yes to the content ``digest`` (see ``Project.digest``) of one kind of files of the project at ``root``."""

    root: str
    kind: Kind
    digest: str
    files: tuple[str, ...]
    accepted_at: str


class Acceptances:
    """What was accepted, as one file for each in ``folder``, so that several processes need no lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, found: Project, kind: Kind) -> bool:
        """Whether exactly this content was accepted for this project. What cannot be read was not."""
        digest = found.digest(kind)
        kept = _read(self._file(found.root, kind, digest))
        return kept is not None and (kept.root, kept.kind, kept.digest) == (found.root, kind, digest)

    def add(self, found: Project, kind: Kind) -> None:
        """Remember a yes to this content, on disk on return, readable by its owner alone. Raises StoreError."""
        digest = found.digest(kind)
        paths = tuple(file.path for file in found.files[kind])
        now = datetime.now(UTC).isoformat(timespec="seconds")
        accepted = Acceptance(root=found.root, kind=kind, digest=digest, files=paths, accepted_at=now)
        try:
            _write(self._file(found.root, kind, digest), msgspec.json.encode(accepted))
        except OSError as error:
            raise StoreError(
                f"{self._folder} cannot be written ({error.strerror}); acceptances are kept there"
            ) from None

    def all(self) -> list[Acceptance]:
        """Everything that was accepted, the latest first."""
        kept = [accepted for file in self._files() if (accepted := _read(file))]
        return sorted(kept, key=lambda accepted: accepted.accepted_at, reverse=True)

    def revoke(self, root: str) -> int:
        """Forget every acceptance for the project at ``root``; how many there were. Raises StoreError."""
        files = [file for file in self._files() if (accepted := _read(file)) and accepted.root == root]
        try:
            for file in files:
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self._folder} cannot be written ({error.strerror}); acceptances are kept there"
            ) from None
        return len(files)

    def _file(self, root: str, kind: Kind, digest: str) -> Path:
        return self._folder / f"{project.sha256(f'{kind} {digest} {root}'.encode())}.json"

    def _files(self) -> Iterator[Path]:
        with suppress(OSError):
            yield from self._folder.glob("*.json")


class Counting(Struct, frozen=True):
    """What counts of a project's files."""

    instructions: tuple[ProjectFile, ...] = ()
    skills: tuple[ProjectFile, ...] = ()
    settings: ProjectSettings = ProjectSettings()


class Trust:
    """What counts of a project's files in one session: ``counting``, after ``settle``.

    ``trusting`` takes everything without a question (``--trust``). Where nobody ``can_be_asked``, plain instructions
    are taken and named, and the rest is left out. Nothing of it ever widens a permission.
    """

    def __init__(
        self,
        workspace: Workspace,
        acceptances: Acceptances,
        permissions: Permissions,
        *,
        trusting: bool,
        can_be_asked: bool,
    ) -> None:
        self._workspace = workspace
        self._acceptances = acceptances
        self._permissions = permissions
        self._trusting = trusting
        self._can_be_asked = can_be_asked
        self._found: Project | None = None
        self._answers: dict[tuple[str, Kind, str], bool] = {}
        self.counting = Counting()

    async def settle(self, emit: Callable[[Event], None]) -> bool:
        """Look at the project's files before a turn, and ask about what nobody has accepted yet.

        A yes holds for this content, now and later; "for this session" is not written down; a no holds for the session.
        False when the person wants the turn to stop.
        """
        found = await self._read()
        if found == self._found:
            return True
        self._found = None
        counting = await self._counting(found, emit, asking=True)
        self.counting = counting or Counting()
        self._found = found if counting else None
        return counting is not None

    async def look(self, emit: Callable[[Event], None]) -> Counting:
        """What would count in a turn that begins now; what would be asked about is left out and named."""
        found = await self._read()
        if found == self._found:
            return self.counting
        return await self._counting(found, emit, asking=False) or Counting()

    async def _read(self) -> Project:
        return await asyncio.to_thread(project.read, self._workspace.root, self._workspace.working_dir)

    async def _counting(self, found: Project, emit: Callable[[Event], None], *, asking: bool) -> Counting | None:
        """What counts of ``found``; None when the person wants the turn to stop."""
        for problem in found.problems:
            emit(Notice("warning", problem))
        files: dict[Kind, tuple[ProjectFile, ...]] = {}
        for kind in found.files:
            answer = await self._counts(found, kind, emit, asking=asking)
            if answer is None:
                return None
            if answer:
                files[kind] = found.files[kind]
        settings, problems = ProjectSettings(), ()
        if "settings" in files:
            settings, problems = await asyncio.to_thread(project.settings_of, files["settings"][0])
        for problem in problems:
            emit(Notice("warning", problem))
        return Counting(files.get("instructions", ()), files.get("skills", ()), settings)

    async def _counts(self, found: Project, kind: Kind, emit: Callable[[Event], None], *, asking: bool) -> bool | None:
        """Whether the files of this kind count; None when the person wants the turn to stop."""
        if self._trusting or self._acceptances.has(found, kind):
            return True
        names = ", ".join(file.path for file in found.files[kind])
        they_are, them = (f"{names} is", "it") if len(found.files[kind]) == 1 else (f"{names} are", "them")
        if not self._can_be_asked:
            if kind == "instructions":
                emit(Notice("note", f"following the project's instructions in {names} (marvin trust shows them)"))
                return True
            why = f"nobody has accepted {them} (marvin trust, or --trust for this run)"
            emit(Notice("note", f"{they_are} left out: {why}"))
            return False
        asked = (found.root, kind, found.digest(kind))
        if asked not in self._answers and not asking:
            emit(Notice("note", f"{they_are} not in it yet: with the next prompt you are asked about {them}"))
            return False
        if asked not in self._answers:
            decision = await self._permissions.ask(await asyncio.to_thread(question, found, kind), emit)
            if decision == "deny_and_stop":
                return None
            self._answers[asked] = decision in ("allow_once", "allow_session")
            if decision == "allow_once":
                try:
                    self._acceptances.add(found, kind)
                except StoreError as error:
                    emit(Notice("warning", f"the answer holds for this session only: {error}"))
        if not self._answers[asked]:
            emit(Notice("note", f"{they_are} left out, as you decided (marvin trust shows and accepts {them})"))
        return self._answers[asked]


def question(found: Project, kind: Kind) -> Permission:
    """The question whether files of this kind may count; its reason holds their whole texts."""
    names = ", ".join(file.path for file in found.files[kind])
    title = f"Use this project's {_WHAT[kind]}{instead(found, kind)}: {names}? (SHA-256 {found.digest(kind)})"
    return Permission(new_id(), "trust", title, texts(found, kind), RULE)


def instead(found: Project, kind: Kind) -> str:
    """Which of the skills that Marvin brings would not count any more, in words that follow on; or nothing."""
    replaced = skills.of_project(found.files[kind])[0].keys() & skills.bundled().keys() if kind == "skills" else ()
    return f" in the place of Marvin's own {', '.join(sorted(replaced))}" if replaced else ""


def texts(found: Project, kind: Kind) -> str:
    """The files of this kind as a person is to see them, each under its path."""
    return "\n\n".join(f"── {file.path}\n{file.text.rstrip()}" for file in found.files[kind])


def _read(file: Path) -> Acceptance | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Acceptance)
    except (OSError, ValueError):
        return None


def _write(file: Path, content: bytes) -> None:
    """Put the private file in place, whole or not at all."""
    for folder in (folder for folder in reversed(file.parents) if not folder.exists()):
        folder.mkdir(0o700, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(fd)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
