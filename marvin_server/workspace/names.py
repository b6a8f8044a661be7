"""What the names in a path say: whether it is protected, and how to show it on one line."""

import os
import posixpath
import re
from functools import lru_cache
from itertools import pairwise

_GIT = "it belongs to Git itself"
_SECRETS = "it may hold secrets"
_MARVIN = "it configures Marvin"
_AGENT = "it configures another assistant"
_EDITOR = "it configures your editor, which can run programs"

_TICKETS = ".tickets"
_ENV_SAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_FREE_IN_MARVIN = frozenset({".gitignore", "logs", "memories", "notes"})
_WORKSPACE = ".code-workspace"
_EDITORS = (
    ".devcontainer",
    ".dir-locals-2.el",
    ".dir-locals.el",
    ".exrc",
    ".idea",
    ".nvim.lua",
    ".nvimrc",
    ".vscode",
)
_AGENTS = (
    ".agents",
    ".amazonq",
    ".augment",
    ".claude",
    ".claude.json",
    ".cline",
    ".clinerules",
    ".codex",
    ".continue",
    ".crush",
    ".cursor",
    ".cursorrules",
    ".gemini",
    ".goosehints",
    ".junie",
    ".kilocode",
    ".kiro",
    ".mcp.json",
    ".opencode",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
    ".windsurfrules",
)
_NAMES = {
    ".git": _GIT,
    ".marvin-instructions": _MARVIN,
    **dict.fromkeys(_EDITORS, _EDITOR),
    **dict.fromkeys(_AGENTS, _AGENT),
}
_PAIRS = {
    (".config", "marvin"): _MARVIN,
    (".config", "opencode"): _AGENT,
    (".github", "copilot-instructions.md"): _AGENT,
}
# What 8.3 names are made of: NTFS and FAT keep a second name such as GIT~1 or GI7EBA~1 for a long one.
_SHORT_NAME = re.compile(r"([^.~]{1,6})~[0-9]{1,6}(?:\.[^.]{0,3})?")
_LONG_NAMES = (*_NAMES, ".env", ".marvin", _TICKETS, *(name for pair in _PAIRS for name in pair))


def protection(path: str, *, writing: bool) -> str | None:
    """Why ``path`` (relative to the root, ``/`` between names) needs a question first, or None when it needs none.

    Writing asks for all of BEHAVIOUR's protected names, reading for ``.env`` files only. It does not matter whether
    the file exists, and neither does a spelling that some file system takes for the same name (see ``folded``).
    """
    reasons = (_reason([folded(name) for name in path.split("/")], writing) for path in _readings(path))
    return next(filter(None, reasons), None)


def is_ticket(path: str) -> bool:
    """Whether ``path`` lies in the folder of tickets, which no file tool may touch."""
    return any(folded(name) == _TICKETS for path in _readings(path) for name in path.split("/"))


@lru_cache(4096)
def folded(name: str) -> str:
    """The one spelling of all those that some file system takes for the same name.

    Case and Unicode composition, which HFS+, APFS and NTFS fold; characters that HFS+ ignores (CVE-2014-9390); dots
    and spaces at the end and ``:stream``, which NTFS drops; a short 8.3 name becomes the protected name that it could
    stand for (CVE-2019-1353).
    """
    if not name.isascii():
        import unicodedata

        composed = unicodedata.normalize("NFKC", name)
        name = "".join(char for char in composed if unicodedata.category(char) != "Cf")
    name = name.casefold().partition(":")[0].rstrip(". ")
    if short := _SHORT_NAME.fullmatch(name):
        unknown = _WORKSPACE if name.endswith(_WORKSPACE[:4]) else name
        return next((long for long in _LONG_NAMES if _may_be_short_for(short[1], long)), unknown)
    return name


def is_undecodable(name: str) -> bool:
    """Whether ``name`` holds bytes that are not UTF-8, which Python keeps as surrogate escapes."""
    return any("\udc80" <= char <= "\udcff" for char in name)


def printable(name: str) -> str:
    """``name`` on one line of valid text: control characters and undecodable bytes become backslash escapes."""
    if is_undecodable(name):
        name = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in name)


def _readings(path: str) -> set[str]:
    """``path`` as POSIX reads it, and as Windows does, where a backslash parts names too."""
    return {path, posixpath.normpath(path.replace("\\", "/"))} if "\\" in path else {path}


def _may_be_short_for(stem: str, name: str) -> bool:
    """Whether the 8.3 name ``stem``~1 may be made of ``name``: its first letters, or two of them and a checksum."""
    letters = name.removeprefix(".").replace(".", "")
    return stem == letters[:6] or bool(len(stem) == 6 and re.fullmatch(f"{re.escape(letters[:2])}[0-9a-f]{{4}}", stem))


def _reason(names: list[str], writing: bool) -> str | None:
    names = [name for name in names if name]
    if any(_is_env(name) for name in names):
        return _SECRETS
    if not writing:
        return None
    reasons = [_NAMES.get(name) or _affix_reason(name) for name in names]
    reasons += [_pair_reason(*pair) for pair in pairwise(names)]
    return next(filter(None, reasons), None)


def _affix_reason(name: str) -> str | None:
    if name.endswith(_WORKSPACE):
        return _EDITOR
    return _AGENT if name.startswith(".aider") else None


def _pair_reason(folder: str, name: str) -> str | None:
    if folder == ".marvin":
        return None if name in _FREE_IN_MARVIN else _MARVIN
    return _PAIRS.get((folder, name))


def _is_env(name: str) -> bool:
    return name in {".env", ".envrc"} or (name.startswith(".env.") and name not in _ENV_SAMPLES)
