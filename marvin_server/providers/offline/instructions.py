"""What a person can tell the offline provider to do: one value per kind of instruction."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replace:
    """Put ``new`` where ``old`` is. ``whole_words`` leaves ``old`` alone inside longer words."""

    old: str
    new: str
    path: str
    everywhere: bool = False
    whole_words: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class RunTests:
    """Run the project's tests, however it does that."""


@dataclass(frozen=True, slots=True)
class Append:
    """Put whole lines at the end of a file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Read:
    """Show lines ``start`` to ``end`` of a file, counted from 1; without them the whole file, or its head."""

    path: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Find:
    """Show the lines that hold ``text``, whatever its case."""

    text: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Show what a tool answers: git's state, a listing, a note."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Change:
    """Change something by one call of a tool, which says itself what it did."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back what was changed."""


Instruction = Replace | Run | RunTests | Append | Read | Find | Show | Change | Undo


@dataclass(frozen=True, slots=True)
class Unclear:
    """A sequence whose steps are instructions up to ``text``, which is none."""

    text: str
