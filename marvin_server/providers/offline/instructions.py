"""What a person can tell the offline provider to do: one value per kind of instruction."""

from collections.abc import Mapping

from msgspec import Struct


class Replace(Struct, frozen=True):
    """Put ``new`` where ``old`` is. ``whole_words`` leaves ``old`` alone inside longer words."""

    old: str
    new: str
    path: str
    everywhere: bool = False
    whole_words: bool = False


class Run(Struct, frozen=True):
    """Run a shell command."""

    command: str


class RunTests(Struct, frozen=True):
    """Run the project's tests, however it does that."""


class Append(Struct, frozen=True):
    """Put whole lines at the end of a file."""

    path: str
    content: str


class Read(Struct, frozen=True):
    """Show lines ``start`` to ``end`` of a file, counted from 1; without them the whole file, or its head."""

    path: str
    start: int | None = None
    end: int | None = None


class Find(Struct, frozen=True):
    """Show the lines that hold ``text``, whatever its case."""

    text: str
    path: str | None = None


class Show(Struct, frozen=True):
    """Show what a tool answers: git's state, a listing, a note."""

    tool: str
    arguments: Mapping[str, object]


class Change(Struct, frozen=True):
    """Change something by one call of a tool, which says itself what it did."""

    tool: str
    arguments: Mapping[str, object]


class Undo(Struct, frozen=True):
    """Take back what was changed."""


Instruction = Replace | Run | RunTests | Append | Read | Find | Show | Change | Undo


class Unclear(Struct, frozen=True):
    """A prompt that says only in part what to do.

    ``understood`` are its words up to ``rest``, which is no instruction; ``advice`` says how to put it.
    """

    understood: str
    rest: str
    advice: str = ""
