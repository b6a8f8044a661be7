"""Commands that people write: a Markdown file is a prompt with a name, its front matter says what it is for.

``$ARGUMENTS`` stands for all that follows the name, ``$1`` to ``$9`` for its words; where the text has none of these,
what follows comes after it. The front matter is ``name: value`` lines between two ``---``: ``description``, and
``arguments``, which says what may follow.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.errors import UsageError
from marvin_server.sanitise import one_line
from marvin_server.session import project
from marvin_server.session.project import Project
from marvin_server.workspace.confine import Root

FOLDER = ".marvin/commands"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])")
_LARGEST = 100_000


class CustomCommand(Struct, frozen=True):
    """``text`` is the prompt. One of a project has the ``project`` with its file, which counts once it is accepted.
    A ``problem`` says why it cannot be used."""

    name: str
    description: str
    argument: str | None
    text: str
    project: Project | None = None
    problem: str = ""

    def prompt(self, arguments: str) -> str:
        """The prompt with what followed the name. Raises ``UsageError`` for a command that cannot be used."""
        if self.problem:
            raise UsageError(self.problem)
        try:
            words = shlex.split(arguments)
        except ValueError:
            words = arguments.split()

        def put(match: re.Match[str]) -> str:
            if match[1] == "ARGUMENTS":
                return arguments
            return words[int(match[1]) - 1] if int(match[1]) <= len(words) else ""

        text, count = _PLACE.subn(put, self.text)
        return text if count or not arguments else f"{text.rstrip()}\n\n{arguments}"


def find(folder: Path, directory: Path) -> dict[str, CustomCommand]:
    """The person's commands in ``folder`` and those of the project at ``directory``, by their names; the person's come
    first. What cannot be read is left out."""
    return {each.name: each for each in (*_of_project(directory), *_of_person(folder))}


def _of_person(folder: Path) -> Iterator[CustomCommand]:
    for name in _names(folder):
        path = folder / f"{name}.md"
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(_LARGEST + 1)
        except (OSError, UnicodeDecodeError):
            continue
        is_long = len(text) > _LARGEST
        problem = f"{path}: a command has {_LARGEST:,} characters at most; make it shorter" if is_long else ""
        yield replace(_command(name, text), problem=problem)


def _of_project(directory: Path) -> Iterator[CustomCommand]:
    names = _names(directory / FOLDER)
    if not names:
        return
    root = Root(directory)
    try:
        for name in names:
            if file := project.read_file(root, f"{FOLDER}/{name}.md"):
                yield _command(name, file.text, Project(project.name_of(root), {"commands": (file,)}))
    finally:
        root.close()


def _names(folder: Path) -> list[str]:
    try:
        return sorted(file.stem for file in folder.iterdir() if file.suffix == ".md" and _NAME.fullmatch(file.stem))
    except OSError:
        return []


def _command(name: str, text: str, of: Project | None = None) -> CustomCommand:
    text = text.replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    fields = [line.partition(":") for line in front[1].splitlines()] if front else []
    values = {key.strip(): one_line(value.strip().strip("\"'"), 200) for key, _, value in fields}
    body = text[front.end() :] if front else text
    takes = values.get("arguments") or ("[ARGUMENTS]" if _PLACE.search(body) else None)
    description = values.get("description") or one_line(body.strip().partition("\n")[0], 80)
    return CustomCommand(name, description, takes, body.strip(), of)
