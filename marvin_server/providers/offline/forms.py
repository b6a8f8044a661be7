"""The forms that instructions have: patterns of English, each with what it makes of its words.

A form that makes None leaves the text to the forms after it. Patterns are matched in any case.
"""

import re
from collections.abc import Callable

from marvin_server.providers.offline.command import read_command, read_shell_line
from marvin_server.providers.offline.instructions import (
    Append,
    Change,
    Find,
    Instruction,
    Read,
    Replace,
    RunTests,
    Show,
    Unclear,
    Undo,
)
from marvin_server.providers.offline.quoting import QUOTE, unquoted

_FILE = (
    r"(?:(?:the|a|an|my|new|empty|text|file|called|named|contents of|content of) )*"
    r"(?P<path>`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.@+~/-]+)"
)
_FILE_NAME = r"/|\.\w|^(?:[A-Z][A-Za-z]*file|README|LICENSE|COPYING|AUTHORS|TODO|CHANGELOG|NOTES|VERSION)$"
_FAMILIAR_FILE = r"(?i)makefile|dockerfile|readme|license|changelog"
_SHOW = r"(?:read|show|open|cat|print|display|view)(?: me)?"
_IN = r"(?:in|inside|within|under|of)"
_TO = r"(?:to|at)(?: the end of)?"
_LINES = r"(?P<start>\d+)(?: ?(?:-|\u2013|to|through) ?(?P<end>\d+))?"
_TEXT_FOLLOWS = r"(?::[ \t]*|[ \t]*(?=\n|```)|[ \t]+(?=[`\"“']))"
_JOINT = r"(?i)\s(?:and|or|with|by|to|in)\s"

Match = re.Match[str]


def _path(match: Match) -> str | None:
    return unquoted(match["path"]).rstrip(".,:;") if match["path"] else None


def _file(match: Match) -> str | None:
    """The path of ``match``, when it looks like that of a file."""
    path = _path(match)
    return path if path and re.search(_FILE_NAME, path) else None


def _create(match: Match, content: str) -> Instruction | None:
    path = _file(match)
    return Change("create_file", {"path": path, "content": content}) if path else None


def _write_nothing(match: Match) -> Unclear | None:
    path = _file(match)
    advice = f'Say what shall be in it: ``write {path} with "First draft"``, or ``create {path}`` for an empty file.'
    return Unclear("", match[0], advice) if path else None


def _append_to(match: Match, content: str) -> Instruction | None:
    path = _file(match)
    return Append(path, content) if path and content else None


def _append(match: Match) -> Instruction | None:
    path = _file(match)
    return Append(path, unquoted(match["text"]) + "\n") if path else None


def _append_prose(match: Match) -> Unclear | None:
    path = _file(match)
    advice = (
        f'Quote the text, or put it after a colon: ``append "a new line" to {path}``, ``append to {path}: a new line``.'
    )
    return Unclear("", match[0], advice) if path else None


def _write_note(match: Match, content: str) -> Instruction | None:
    if not content:
        return None
    name = {"name": match["name"]} if match["name"] else {"name": "notes", "append": True}
    return Change("write_note", {**name, "content": content})


def _note_prose(match: Match) -> Unclear | None:
    if match[0].endswith("?"):
        return None
    return Unclear("note", match["text"], "Put a colon after `note`: ``note: buy milk``.")


def _replace(match: Match) -> Instruction | Unclear | None:
    path = _file(match)
    if not path:
        return None
    for text in (match["old"], match["new"]):
        if re.search(_JOINT, text) and text == unquoted(text):
            return Unclear("", match[0], f"Quote both texts: ``replace `old text` with `new text` in {path}``.")
    everywhere = bool(match["all"] or match["everywhere"])
    return Replace(unquoted(match["old"]), unquoted(match["new"]), path, everywhere)


def _rename(match: Match) -> Instruction | None:
    path = _file(match)
    old, new = unquoted(match["old"]), unquoted(match["new"])
    return Replace(old, new, path, everywhere=True, whole_words=True) if path else None


def _git(match: Match) -> Instruction:
    word = match["what"].lower()
    if word == "status":
        return Show("git_status", {})
    place = {"path": path} if (path := _path(match)) else {}
    if word not in {"diff", "changes"}:
        return Show("git_log", place)
    return Show("git_diff", {**place, "staged": True} if match["staged"] else place)


def _list(match: Match) -> Instruction:
    path = _path(match)
    return Show("tree", {"path": path, "depth": 2} if path else {"depth": 2})


def _read(match: Match) -> Instruction | None:
    path = _path(match)
    start = int(match["start"]) if match["start"] else None
    end = int(match["end"]) if match["end"] else start
    is_file = path and (_file(match) or re.fullmatch(_FAMILIAR_FILE, path))
    return Read(path, start, end) if path and is_file else None


WITH_TEXT: tuple[tuple[str, Callable[[Match, str], Instruction | None]], ...] = (
    (
        (
            r"(?:(?P<verb>write|make|take|add|save|leave)(?: me)? )?(?:a |the )?note"
            r"(?: (?:called |named )?(?P<name>[\w-]+):|:|(?(verb)(?: that(?= )|(?= ))|(?!)))[ \t]*"
        ),
        _write_note,
    ),
    (
        (
            rf"(?:create|write) {_FILE}(?: (?:with|containing|that says|that contains)"
            r"(?: the)?(?: following)?(?: (?:contents?|text|lines?))?:?(?=\s)|:(?=\s)|(?=\s+```))[ \t]*"
        ),
        _create,
    ),
    (rf"(?:append|add) to {_FILE}{_TEXT_FOLLOWS}", _append_to),
)

ONE_LINE: tuple[tuple[str, Callable[[Match], Instruction | Unclear | None]], ...] = (
    (
        (
            r"(?:replace|change)\s+(?P<all>(?:all|every|each)\s+(?:(?:occurrences?|instances?)\s+of\s+)?)?"
            rf"(?P<old>{QUOTE}|.+?)\s+(?:with|by|to)\s+(?P<new>{QUOTE}|.+?)"
            rf"(?P<everywhere>\s+everywhere)?\s+{_IN}\s+{_FILE}"
        ),
        _replace,
    ),
    (
        rf"rename\s+(?P<old>{QUOTE}|\S+)\s+to\s+(?P<new>{QUOTE}|\S+)\s+(?:everywhere\s+)?{_IN}\s+{_FILE}",
        _rename,
    ),
    (
        r"(?:run|execute|start)(?: (?:all|the|my|its|our|unit|whole|full))* (?:tests?|test[ -]suite)",
        lambda _: RunTests(),
    ),
    (
        r"(?:run|execute):?(?: (?:the )?(?:following )?(?:shell )?command:?)? (?P<command>.+)",
        lambda match: read_command(match["command"]),
    ),
    (r"\$ (?P<command>.+)", lambda match: read_shell_line(match["command"])),
    (rf"create {_FILE}", lambda match: _create(match, "")),
    (rf"write {_FILE}", _write_nothing),
    (rf"(?:append|add)(?: (?:the |a |this )?(?:line|text):?)? (?P<text>{QUOTE}) {_TO} {_FILE}", _append),
    (rf"(?:append|add)(?: (?:the |a |this )?(?:line|text))?: (?P<text>.+?) {_TO} {_FILE}", _append),
    (rf"(?:append|add) (?:.+ )?{_TO} {_FILE}(?: .+)?", _append_prose),
    (r"note (?:that )?(?P<text>.+)", _note_prose),
    (
        (
            rf"(?:(?:show|print|display)(?: me)? |what(?:'s| is) )?(?:the )?(?:git |current )*(?P<staged>staged )?"
            rf"(?P<what>status|diff|log|history|commits|changes)(?: (?:to|for|{_IN}) {_FILE})?"
        ),
        _git,
    ),
    (r"what(?:'s| is| has| have)? changed|what did (?:i|we|you) change", lambda _: Show("git_diff", {})),
    (rf"{_SHOW}(?: the)? lines? {_LINES} (?:from|{_IN}) {_FILE}", _read),
    (rf"{_SHOW} {_FILE}(?:(?:,? lines? |:){_LINES})?", _read),
    (
        rf"{_SHOW}(?: (?:the|my))? notes?(?: (?P<name>[\w-]+))?",
        lambda match: Show("read_note", {"name": match["name"] or "notes"}),
    ),
    (
        rf"(?:list|show)(?: (?:me|all|the|files?|folders?|tree|directory|contents))+(?: {_IN} {_FILE})?",
        _list,
    ),
    (r"ls|tree|dir", lambda _: Show("tree", {"depth": 2})),
    (
        rf"(?:find|grep|search)(?: for)? (?P<text>{QUOTE}|\S+?)(?: {_IN} {_FILE})?",
        lambda match: Find(unquoted(match["text"]), _path(match)),
    ),
    (r"pwd|where am i|(?:show|print)(?: the)? working dir(?:ectory)?", lambda _: Show("get_working_dir", {})),
    (r"(?:show )?(?:the |token )*usage", lambda _: Show("get_usage", {})),
    (
        r"(?:undo|revert|take back)(?: (?:that|it|this|everything|(?:the|your) (?:last )?(?:change|edit)s?))?",
        lambda _: Undo(),
    ),
)
