"""What the names in a path say: whether it is protected, and how to show it on one line."""

import os
from itertools import pairwise

_GIT = "it belongs to Git itself"
_SECRETS = "it may hold secrets"
_MARVIN = "it configures Marvin"
_AGENT = "it configures another assistant"

_TICKETS = ".tickets"
_ENV_SAMPLES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
_FREE_IN_MARVIN = frozenset({".gitignore", "logs", "memories", "notes"})
_NAMES = {".git": _GIT} | dict.fromkeys(
    (
        ".claude",
        ".claude.json",
        ".cline",
        ".clinerules",
        ".codex",
        ".continue",
        ".cursor",
        ".cursorrules",
        ".gemini",
        ".mcp.json",
        ".opencode",
        ".roo",
        ".windsurf",
        ".windsurfrules",
    ),
    _AGENT,
)
_PAIRS = {
    (".config", "marvin"): _MARVIN,
    (".config", "opencode"): _AGENT,
    (".github", "copilot-instructions.md"): _AGENT,
}


def protection(path: str, *, writing: bool) -> str | None:
    """Why ``path`` (relative to the root, ``/`` between names) needs a question first, or None when it needs none.

    Writing asks for all of BEHAVIOUR's protected names, reading for ``.env`` files only. Case does not matter, as some
    file systems fold it, and neither does whether the file exists.
    """
    names = [name.casefold() for name in path.split("/") if name not in {"", "."}]
    if any(_is_env(name) for name in names):
        return _SECRETS
    if not writing:
        return None
    reasons = [_NAMES.get(name) or (_AGENT if name.startswith(".aider") else None) for name in names]
    reasons += [_pair_reason(*pair) for pair in pairwise(names)]
    return next(filter(None, reasons), None)


def is_ticket(path: str) -> bool:
    """Whether ``path`` lies in the folder of tickets, which no file tool may touch."""
    return any(name.casefold() == _TICKETS for name in path.split("/"))


def is_undecodable(name: str) -> bool:
    """Whether ``name`` holds bytes that are not UTF-8, which Python keeps as surrogate escapes."""
    return any("\udc80" <= char <= "\udcff" for char in name)


def printable(name: str) -> str:
    """``name`` on one line of valid text: control characters and undecodable bytes become backslash escapes."""
    if is_undecodable(name):
        name = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in name)


def _pair_reason(folder: str, name: str) -> str | None:
    if folder == ".marvin":
        return None if name in _FREE_IN_MARVIN else _MARVIN
    return _PAIRS.get((folder, name))


def _is_env(name: str) -> bool:
    return name == ".env" or (name.startswith(".env.") and name not in _ENV_SAMPLES)
