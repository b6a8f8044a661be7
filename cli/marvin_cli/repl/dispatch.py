"""What a line that a person has entered is: a prompt, a command for their own shell, or one of Marvin's."""

import re
from collections.abc import Collection
from difflib import get_close_matches

from msgspec import Struct

# What may be entered without a slash: with a ! before it, and as the only word of the line.
WITH_BANG = frozenset({"code", "shell", "sh", "voice", "v", "blender", "pro"})
BARE = frozenset({"quit", "exit", "preferences", "profiles", "usage", "saved"})
_SLASH = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*?))?\s*", re.DOTALL)
_BANG = re.compile(r"!([a-z]+)(?:\s+(.*?))?\s*", re.DOTALL)
_BARE = re.compile(r"([a-z]+)\s*")


class Prompt(Struct, frozen=True):
    """For the model."""

    text: str


class ShellLine(Struct, frozen=True):
    """For the person's own shell."""

    command: str


class Call(Struct, frozen=True):
    """One of Marvin's own commands, by its name; ``argument`` is what followed, or empty."""

    name: str
    argument: str = ""


class Unknown(Struct, frozen=True):
    """Something that looks like a command and is none; ``nearest`` are names that may be meant."""

    name: str
    nearest: tuple[str, ...]


def read(text: str, names: Collection[str], *, shell_mode: bool) -> Prompt | ShellLine | Call | Unknown | None:
    """What ``text`` is, None where it says nothing. ``names`` are the commands that there are. In shell mode all that
    is no command goes to the shell, and ``exit`` leaves it. What begins with a blank is sent as it is."""
    if not text.strip():
        return None
    if text[0] == "!":
        bang = _BANG.fullmatch(text)
        return Call(bang[1], bang[2] or "") if bang and bang[1] in WITH_BANG else ShellLine(text[1:].strip())
    if slash := _SLASH.fullmatch(text):
        nearest = tuple(get_close_matches(slash[1].lower(), names, 3, 0.5))
        return Call(slash[1], slash[2] or "") if slash[1] in names else Unknown(slash[1], nearest)
    bare = _BARE.fullmatch(text)
    if shell_mode:
        return Call("shell") if bare and bare[1] in {"exit", "quit"} else ShellLine(text.strip())
    return Call(bare[1]) if bare and bare[1] in BARE else Prompt(text)
