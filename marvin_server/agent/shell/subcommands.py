"""What a bash text runs, as values."""

import re

from msgspec import Struct

from marvin_server.agent.shell.words import Word


class Redirect(Struct, frozen=True):
    """``operator`` is bash's, such as ``>>``; ``target`` is the word after it: a file, a descriptor, or a text."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether it may write to the file that ``target`` names."""
        to_descriptor = self.operator == ">&" and re.fullmatch(r"\d+-?|-", self.target.value or "")
        return ">" in self.operator and not to_descriptor

    @property
    def reads(self) -> bool:
        """Whether it reads the file that ``target`` names."""
        return self.operator in {"<", "<>"}


class Subcommand(Struct, frozen=True):
    """One simple command: its ``words``, the name first (none when it has only redirects), its ``redirects``, and the
    ``assignments`` before it. ``text`` is as it was written. ``wraps`` is true of one such as ``env`` that only runs
    another, which stands for itself."""

    words: tuple[Word, ...]
    text: str
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[Word, ...] = ()
    wraps: bool = False

    @property
    def moves(self) -> bool:
        """Whether what follows, or what it runs, may be in another folder."""
        name = (self.words[0].value or "").rpartition("/")[2] if self.words else ""
        values = [word.value or word.known for word in self.words[1:]]
        to_folder = any(re.match(r"-[^-]*C|--c", value) for value in values)
        return name in {"cd", "pushd", "popd"} or (name == "env" and to_folder)


class Parsed(Struct, frozen=True):
    """All ``subcommands`` that may run, as far as they are known; with a ``problem`` more may run than these.

    A problem reads on after "the command …".
    """

    subcommands: tuple[Subcommand, ...]
    problem: str | None = None
