"""Skills: a folder with a ``SKILL.md``, which says how one kind of work is done well.

Its front matter has the ``name``, which is the folder's, too, and a ``description`` of when to use it. The model is
told these two, and reads the rest when it has such work to do. Format: https://agentskills.io/specification.
"""

import codecs
import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.sanitise import printable
from marvin_server.session import front_matter
from marvin_server.session.project import ProjectFile
from marvin_server.session.stamps import Stamp, stamp
from marvin_server.workspace import documents, names
from marvin_server.workspace.confine import Root
from marvin_server.workspace.encodings import readable

FILE = "SKILL.md"
_BUNDLED = Path(__file__).parent.parent / "skills"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1024
_LARGEST = 100_000  # bytes
_DEEPEST, _MOST, _MOST_FILES = 3, 200, 100


class Skill(Struct, frozen=True):
    """``text`` is what follows the front matter. A skill's other files are in ``folder``; None where they are in the
    workspace, at ``place``."""

    name: str
    description: str
    text: str
    place: str
    folder: Path | None = None

    def file(self, path: str) -> str:
        """The text of another file of the skill's, by its path in the folder. Raises ``ToolError``."""
        if self.folder is None:
            raise ToolError(f"The files of {self.name} are in the workspace: read_file reads '{self.place}/{path}'.")
        try:
            root = Root(self.folder)
        except OSError as error:
            raise ToolError(f"The folder of {self.name} cannot be opened ({error.strerror}).") from error
        try:
            return readable(documents.read_bytes(root, path, _LARGEST).decode("utf-8", "surrogateescape"))
        finally:
            root.close()

    def files(self) -> list[str]:
        """The paths of its other files, for ``file`` or in the workspace; at most 100."""
        if self.folder is None:
            return []
        found = (
            Path(folder, name).relative_to(self.folder).as_posix()
            for folder, _, inside in os.walk(self.folder)
            for name in sorted(inside)
        )
        return [path for _, path in zip(range(_MOST_FILES), (path for path in found if path != FILE), strict=False)]


def bundled() -> dict[str, Skill]:
    """The skills that Marvin brings."""
    return _in_folder(_BUNDLED, [])


def of_person(folder: Path) -> tuple[dict[str, Skill], tuple[str, ...]]:
    """The person's skills, at most three folders deep beneath ``folder``, and a line for each that cannot be used."""
    problems: list[str] = []
    return _in_folder(folder, problems), tuple(problems)


def of_project(files: Sequence[ProjectFile]) -> tuple[dict[str, Skill], tuple[str, ...]]:
    """The skills in a project's ``SKILL.md`` files, the first of a name; and a line for each that cannot be used."""
    problems: list[str] = []
    found: dict[str, Skill] = {}
    for file in files:
        if skill := _skill(file.text, file.path, file.path.rpartition("/")[0], None, problems):
            found.setdefault(skill.name, skill)
    return found, tuple(problems)


def _in_folder(folder: Path, problems: list[str]) -> dict[str, Skill]:
    found: dict[str, Skill] = {}
    for path in _beneath(str(folder), _DEEPEST):
        try:
            content = _content(path, stamp(path.stat()))
        except OSError as error:
            problems.append(f"{names.printable(str(path))} is left out: {error.strerror}")
            continue
        if skill := _skill(content, path, str(path.parent), path.parent, problems):
            found[skill.name] = skill
    return found


def _skill(content: str, path: object, place: str, folder: Path | None, problems: list[str]) -> Skill | None:
    above = place.rpartition("/")[2]
    fields, text = _parts(content)
    name, description = fields.get("name", ""), fields.get("description", "")
    wrong = ""
    if not name or not description:
        wrong = "it needs a name and a description between two lines of ---"
    elif len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        wrong = f"its name must be lower-case letters, digits and single hyphens, {_LONGEST_NAME} at most, not {name!r}"
    elif name != above:
        wrong = f"it is called {name!r}, but its folder {above!r}; they must be the same"
    if wrong:
        problems.append(f"{names.printable(str(path))} is left out: {wrong}")
        return None
    return Skill(name, description, text.strip(), names.printable(place), folder)


@lru_cache(_MOST)
def _parts(content: str) -> tuple[Mapping[str, str], str]:
    return front_matter.read(content, _LONGEST_DESCRIPTION)


@lru_cache(_MOST)
def _content(path: Path, _: Stamp) -> str:
    """The text of the file as it is at this stamp."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {_LARGEST:,} bytes; move a part of it into a file beside it")
    return printable(readable(content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")))


def _beneath(folder: str, depth: int) -> Iterator[Path]:
    """The ``SKILL.md`` files in the folders beneath, in the order of their names; none within a skill."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return
    for name in inside[:_MOST]:
        file = Path(folder, name, FILE)
        if file.is_file():
            yield file
        elif depth > 1:
            yield from _beneath(f"{folder}/{name}", depth - 1)
