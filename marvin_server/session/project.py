"""What a project's own files want to add to a session: settings, skills and instructions, read beneath its root, and
the instructions above it where the root is a folder in a repository.

Reading gives them no force. Whether they count is decided in ``trust``.
"""

import errno
import os
import posixpath
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from marvin_server import sanitise
from marvin_server.config_file import CHECKS
from marvin_server.errors import ToolError
from marvin_server.settings import Effort
from marvin_server.workspace import documents, encodings, listing
from marvin_server.workspace.confine import Root
from marvin_server.workspace.names import printable

Kind = Literal["instructions", "settings", "skills", "commands"]

SETTINGS_FILE = ".marvin/config.yaml"
_IN_EACH_FOLDER = (
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules"),
    *(".clinerules", ".marvin-instructions", ".marvin/instructions.md"),
)
_AT_THE_ROOT = (".marvin/spec.md", ".marvin/ux.md", ".marvin/design.md")
_SKILL_FOLDERS = (".marvin/skills", ".claude/skills", ".agents/skills")
_MOST_SKILLS = 100
_LARGEST = 1_000_000  # bytes of a file; what is larger was not written for an assistant
_SHOWN = 32_768
_SHOWN_IN_ALL = 102_400
_MAY_SET = "max_rounds (lower), thinking and tools"


class ProjectFile(Struct, frozen=True):
    """A text file of the project's. ``text`` is exactly what a model reads and a person is shown: without invisible
    characters, and cut where it is too long. ``path`` is relative to the root. ``digest`` is the SHA-256 of the whole
    file, in hex."""

    path: str
    text: str
    digest: str


class Project(Struct, frozen=True):
    """The files by kind; of the instructions the nearest to the working directory come first.

    ``problems`` says in a line each what cannot be taken and why.
    """

    root: str
    files: dict[Kind, tuple[ProjectFile, ...]]
    problems: tuple[str, ...] = ()

    def digest(self, kind: Kind) -> str:
        """The SHA-256 over the names and contents of all files of this kind, in hex."""
        return sha256("".join(f"{file.digest} {file.path}\0" for file in self.files[kind]).encode())


class ProjectSettings(Struct, frozen=True):
    """All that a project's settings file may say. ``max_rounds`` counts where it is lower than the person's."""

    max_rounds: int | None = None
    thinking: Effort | None = None
    tools: tuple[str, ...] = ()


def read(root: Root, working_dir: str) -> Project:
    """The project's files in the folders from ``working_dir`` (relative to the root) up to the root; where that is a
    folder in a git repository, also the instructions in the folders from there up to the repository's top.

    A file is left out, with a line in ``problems``, when it leads out of the root (or of the repository), is protected,
    or is no text of at most 1 MB; so is what lies above the root in a repository that is not this user's own. Of each
    file 32 KB are taken, of all instructions 100 KB; a line in the text says so. A file with the content of one before
    it (a link, or a copy for another assistant) is the same file.
    """
    problems: list[str] = []
    instructions: dict[str, ProjectFile] = {}
    room = _SHOWN_IN_ALL
    beneath = ((root, path, path) for path in (*_instruction_paths(working_dir), *_AT_THE_ROOT))
    for base, path, name in (*beneath, *_above(root, problems)):
        if (file := _read(base, path, name, min(_SHOWN, room), problems)) and file.digest not in instructions:
            instructions[file.digest] = file
            room = max(0, room - len(file.text))
    settings = _read(root, SETTINGS_FILE, SETTINGS_FILE, _SHOWN, problems)
    skills = tuple(_skills(root, problems))
    files: dict[Kind, tuple[ProjectFile, ...]] = {}
    if instructions:
        files["instructions"] = tuple(instructions.values())
    if settings:
        files["settings"] = (settings,)
    if skills:
        files["skills"] = skills
    return Project(name_of(root), files, tuple(problems))


def read_file(root: Root, path: str) -> ProjectFile | None:
    """One file of the project's, with what ``read`` takes of each; None where it cannot be taken."""
    return _read(root, path, path, _SHOWN, [])


def sha256(content: bytes) -> str:
    """The SHA-256 of ``content``, in hex."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


def name_of(root: Root) -> str:
    """What the project with this root is called: its path, as it can be shown and kept."""
    return printable(str(root.path))


def settings_of(file: ProjectFile) -> tuple[ProjectSettings, tuple[str, ...]]:
    """What the settings file says that a project may say, and a line for everything else in it.

    A project can set no address, key, command, hook or permission: what is not on the list is left out and named.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(_is_elaborate(event) for event in yaml.parse(file.text, loader)):
            return ProjectSettings(), (f"{file.path} is left out: aliases, merge keys (<<) and tags are not taken",)
        content: object = yaml.load(file.text, loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        return ProjectSettings(), (f"{file.path} is left out, since it is not valid YAML: {reason}",)
    if content is None:
        return ProjectSettings(), ()
    if not isinstance(content, dict):
        return ProjectSettings(), (f"{file.path} is left out: it needs lines such as 'thinking: high'",)
    values: dict[str, object] = {}
    problems: list[str] = []
    for key, value in content.items():  # pyright: ignore[reportUnknownVariableType]
        name = key[:80] if isinstance(key, str) else "a key that is no text"
        if name not in ProjectSettings.__struct_fields__:
            problems.append(f"{file.path}: '{printable(name)}' is left out: a project may only set {_MAY_SET}")
            continue
        try:
            values[name] = CHECKS[name](value)  # pyright: ignore[reportUnknownArgumentType]
        except ValueError as error:
            problems.append(f"{file.path}: {name} {error}; it is left out")
    return ProjectSettings(**values), tuple(problems)  # pyright: ignore[reportArgumentType]


def _is_elaborate(event: object) -> bool:
    """Whether a YAML event would make a value that is larger than its text, or of a kind that the text names."""
    import yaml

    if isinstance(event, yaml.AliasEvent):
        return True
    if not isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
        return False
    return event.tag is not None or (isinstance(event, yaml.ScalarEvent) and event.value == "<<")


def _instruction_paths(working_dir: str) -> Iterator[str]:
    folder = posixpath.normpath(working_dir)
    while folder != ".":
        yield from (f"{folder}/{name}" for name in _IN_EACH_FOLDER)
        folder = posixpath.dirname(folder) or "."
    yield from _IN_EACH_FOLDER


def _skills(root: Root, problems: list[str]) -> Iterator[ProjectFile]:
    """The ``SKILL.md`` in each folder of skills, of 100 skills a folder, and 100 KB in all."""
    room = _SHOWN_IN_ALL
    for folder in _SKILL_FOLDERS:
        if not os.path.lexists(root.path / folder):
            continue
        names = listing.names(root, folder)
        if len(names) > _MOST_SKILLS:
            problems.append(f"{folder} has {len(names)} skills; the first {_MOST_SKILLS} count")
        for name in sorted(names)[:_MOST_SKILLS]:
            path = f"{folder}/{name}/SKILL.md"
            if file := _read(root, path, path, min(_SHOWN, room), problems):
                room = max(0, room - len(file.text))
                yield file


def _above(root: Root, problems: list[str]) -> Iterator[tuple[Root, str, str]]:
    """The instructions above the root, the nearer first: the top of its repository, their paths there, and from the
    root."""
    folders = (root.path, *root.path.parents)
    top = next((folder for folder in folders if os.path.lexists(folder / ".git")), root.path)
    if top == root.path:
        return
    paths = list(_instruction_paths(root.path.parent.relative_to(top).as_posix()))
    names = {path: posixpath.relpath(top / path, root.path) for path in paths if os.path.lexists(top / path)}
    if not names:
        return
    try:
        # As git asks for: where others may write, as in /tmp, anybody could have made a repository around this folder.
        if any(place.lstat().st_uid != os.geteuid() for place in (top, top / ".git")):
            raise PermissionError(errno.EPERM, "its git repository belongs to another user")
        repository = Root(top)
    except OSError as error:
        problems.append(f"{', '.join(map(printable, names.values()))} is left out: {error.strerror}")
        return
    yield from ((repository, path, name) for path, name in names.items())


def _read(root: Root, path: str, name: str, room: int, problems: list[str]) -> ProjectFile | None:
    # Most names are not there; a look by name is a hint that saves the start of every session the confined one.
    if not os.path.lexists(root.path / path):
        return None
    try:
        root.stat(path)
        content = documents.read_bytes(root, path, _LARGEST)
        text = encodings.decode(content, encodings.detected(content, name), name).replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ToolError) as error:
        problems.append(f"{printable(name)} is left out: {str(error).partition(chr(10))[0]}")
        return None
    fit, beyond = shown(text[:room]), max(0, len(text) - room)
    if beyond or len(fit) > room:
        fit = f"{fit[:room]}\n[cut: {min(room, len(fit)):,} of {len(fit) + beyond:,} characters]"
    return ProjectFile(printable(name), fit, sha256(content))


@lru_cache(64)
def shown(text: str) -> str:
    """``text`` made harmless; what was shown before a turn is mostly shown before the next one."""
    return sanitise.printable(encodings.readable(text))
