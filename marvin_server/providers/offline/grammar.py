"""Plain instructions in English, such as ``replace A with B in FILE, then run the tests``, read into values.

A step ends at ``then`` or at a new line, outside quotes; a numbered list is a sequence too. Text for a file goes on to
the end of the prompt, unless it is fenced or quoted, or what follows it is itself an instruction.
"""

import re
from collections.abc import Callable

from marvin_server.providers.offline.instructions import (
    Append,
    Change,
    Find,
    Instruction,
    Read,
    Replace,
    Run,
    RunTests,
    Show,
    Unclear,
    Undo,
)

MAX_STEPS = 20
_LONGEST_STEP = 4_000

_QUOTE = r"`[^`\n]+`|\"[^\"\n]*\"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)"
_SEPARATOR = rf"(?i){_QUOTE}|(?P<end>[,.;]?\s+(?:and\s+)?then\b,?\s+|,\s*then\s+|\s*\n\s*)"
_ITEM = r"(?m)^[ \t]*(?:\d+[.)]|[-*•])[ \t]+"
_POLITE = (
    r"(?i)(?:(?:please|hey|hi|marvin|now|and|then|first|finally|next|ok|okay|just)\b[, ]*"
    r"|(?:can|could|would|will) you\b[, ]*|i(?: want|'d like| would like) you to\b[, ]*)*"
)
_FENCED = r"(?sm)\s*(?P<marks>`{3,}|~{3,})[^\n`]*\n(?P<body>.*?)(?:^|\n)(?P=marks)[ \t]*(?:\n|\Z)"
_FILE = (
    r"(?:(?:the|a|an|my|new|empty|text|file|called|named|contents of|content of) )*"
    r"(?P<path>`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.@+~/-]+)"
)
_FILE_NAME = r"/|\.\w|^(?:[A-Z][A-Za-z]*file|README|LICENSE|COPYING|AUTHORS|TODO|CHANGELOG|NOTES|VERSION)$"
_NO_COMMAND = (
    r"(?i)(?:through|me|us|a|an|the|it|this|that|these|those|all|some|my|our|your|into|out|away|over|tests?)\b"
    r"(?! *[=|/&<>.])"
)
_WRITE = r"(?:create|write)"
_SHOW = r"(?:read|show|open|cat|print|display|view)(?: me)?"
_IN = r"(?:in|inside|within|under|of)"
_TO = r"(?:to|at)(?: the end of)?"
_LINES = r"(?P<start>\d+)(?: ?(?:-|\u2013|to|through) ?(?P<end>\d+))?"

_CLOSING = r"\s*[.!?]*"

Match = re.Match[str]


def read_instructions(prompt: str) -> list[Instruction] | Unclear | None:
    """The steps of ``prompt`` in order; ``Unclear`` when only the first ones are instructions; None when none is."""
    text = prompt.strip()
    pieces = [text]
    if re.match(_ITEM, text) and "```" not in text:
        pieces = [item.strip() for item in re.split(_ITEM, text) if item.strip()]
    steps: list[Instruction] = []
    for piece in pieces:
        rest = piece
        while rest:
            taken = _take(rest)
            if taken is None or len(steps) == MAX_STEPS:
                return Unclear(rest) if steps else None
            step, rest = taken
            steps.append(step)
    return steps or None


def _take(text: str, *, nested: bool = False) -> tuple[Instruction, str] | None:
    """The first instruction of ``text`` and the text after it. A ``nested`` look only asks whether there is one."""
    polite = re.match(_POLITE, text)
    text = text[polite.end() :] if polite else text
    for header, with_content in _WITH_CONTENT:
        if match := re.match(header, text, re.IGNORECASE):
            content, rest = _content(text[match.end() :], nested)
            if step := with_content(match, content):
                return step, rest
    head, rest = _end(text, nested)
    if len(head) <= _LONGEST_STEP:
        for pattern, make in _ONE_LINE:
            if (match := re.fullmatch(f"(?:{pattern}){_CLOSING}", head, re.IGNORECASE)) and (step := make(match)):
                return step, rest
    return None


def _end(text: str, nested: bool) -> tuple[str, str]:
    """The step that ``text`` begins with, and what follows it. A shell's ``; then`` does not end a step."""
    for match in re.finditer(_SEPARATOR, text[:_LONGEST_STEP]):
        head, rest = text[: match.start()].strip(), text[match.end() :]
        in_shell = (match["end"] or "").startswith(";") and (nested or _take(rest[:_LONGEST_STEP], nested=True) is None)
        if match["end"] and not in_shell:
            return head, rest
    return text.strip(), ""


def _content(text: str, nested: bool) -> tuple[str, str]:
    """Text for a file, which ends in a newline unless it is empty, and what follows it."""
    if fenced := re.match(_FENCED, text):
        body = fenced["body"]
        return (body + "\n" if body else ""), text[fenced.end() :].strip()
    if text.startswith("\n"):
        return text.strip("\n") + "\n", ""
    if quoted := re.match(_QUOTE, text):
        after = text[quoted.end() :]
        if not after.strip(" .!"):
            return quoted[0][1:-1] + "\n", ""
        if (end := re.match(_SEPARATOR, after)) and end["end"]:
            return quoted[0][1:-1] + "\n", after[end.end() :]
    if not nested:
        for end in [match for match in re.finditer(_SEPARATOR, text[:_LONGEST_STEP]) if match["end"]][:MAX_STEPS]:
            if _take(text[end.end() : end.end() + _LONGEST_STEP], nested=True):
                return text[: end.start()].strip() + "\n", text[end.end() :]
    return (text.strip() + "\n" if text.strip() else ""), ""


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and re.fullmatch(_QUOTE, text) else text


def _path(match: Match) -> str | None:
    return _unquoted(match["path"]).rstrip(".,:;") if match["path"] else None


def _file(match: Match) -> str | None:
    """The path of ``match``, when it looks like that of a file."""
    path = _path(match)
    return path if path and re.search(_FILE_NAME, path) else None


def _create(match: Match, content: str) -> Instruction | None:
    path = _file(match)
    return Change("create_file", {"path": path, "content": content}) if path else None


def _append_to(match: Match, content: str) -> Instruction | None:
    path = _file(match)
    return Append(path, content) if path and content else None


def _write_note(match: Match, content: str) -> Instruction | None:
    if not content:
        return None
    name = {"name": match["name"]} if match["name"] else {"name": "notes", "append": True}
    return Change("write_note", {**name, "content": content})


def _replace(match: Match) -> Instruction | None:
    path = _file(match)
    everywhere = bool(match["all"] or match["everywhere"])
    return Replace(_unquoted(match["old"]), _unquoted(match["new"]), path, everywhere) if path else None


def _rename(match: Match) -> Instruction | None:
    path = _file(match)
    old, new = _unquoted(match["old"]), _unquoted(match["new"])
    return Replace(old, new, path, everywhere=True, whole_words=True) if path else None


def _run(match: Match) -> Instruction | None:
    given = match["command"]
    return None if re.match(_NO_COMMAND, given) else Run(_unquoted(given))


def _git(match: Match) -> Instruction:
    word = match["what"].lower()
    if word == "status":
        return Show("git_status", {})
    place = {"path": path} if (path := _path(match)) else {}
    if word not in {"diff", "changes"}:
        return Show("git_log", place)
    return Show("git_diff", {**place, "staged": True} if match["staged"] else place)


def _append(match: Match) -> Instruction | None:
    path = _file(match)
    return Append(path, _unquoted(match["text"]) + "\n") if path else None


def _list(match: Match) -> Instruction:
    path = _path(match)
    return Show("tree", {"path": path, "depth": 2} if path else {"depth": 2})


def _read(match: Match) -> Instruction | None:
    path = _file(match)
    start = int(match["start"]) if match["start"] else None
    end = int(match["end"]) if match["end"] else start
    return Read(path, start, end) if path else None


_WITH_CONTENT: tuple[tuple[str, Callable[[Match, str], Instruction | None]], ...] = (
    (
        (
            r"(?:(?:write|make|take|add|save|leave)(?: me)? )?(?:a |the )?note"
            r"(?: (?:called |named )?(?P<name>[\w-]+):|:| that(?= )|(?= ))[ \t]*"
        ),
        _write_note,
    ),
    (
        (
            rf"{_WRITE} {_FILE}(?: (?:with|containing|that says|that contains)"
            r"(?: the)?(?: following)?(?: (?:contents?|text|lines?))?:?(?=\s)|:(?=\s)|(?=\s+```))[ \t]*"
        ),
        _create,
    ),
    (rf"(?:append|add) to {_FILE}:?(?=\s)[ \t]*", _append_to),
)
_ONE_LINE: tuple[tuple[str, Callable[[Match], Instruction | None]], ...] = (
    (
        (
            r"(?:replace|change)\s+(?P<all>(?:all|every|each)\s+(?:(?:occurrences?|instances?)\s+of\s+)?)?"
            rf"(?P<old>{_QUOTE}|.+?)\s+(?:with|by|to)\s+(?P<new>{_QUOTE}|.+?)"
            rf"(?P<everywhere>\s+everywhere)?\s+{_IN}\s+{_FILE}"
        ),
        _replace,
    ),
    (
        rf"rename\s+(?P<old>{_QUOTE}|\S+)\s+to\s+(?P<new>{_QUOTE}|\S+)\s+(?:everywhere\s+)?{_IN}\s+{_FILE}",
        _rename,
    ),
    (
        r"(?:run|execute|start)(?: (?:all|the|my|its|our|unit|whole|full))* (?:tests?|test[ -]suite)",
        lambda _: RunTests(),
    ),
    (r"(?:run|execute|\$)(?: (?:the )?(?:shell )?command:?)? (?P<command>.+)", _run),
    (rf"{_WRITE} {_FILE}", lambda match: _create(match, "")),
    (
        rf"(?:append|add)(?: (?:the |a |this )?(?:line|text):?)? (?P<text>{_QUOTE}) {_TO} {_FILE}",
        _append,
    ),
    (
        rf"(?:append|add (?:the |a |this )?(?:line|text):?) (?P<text>.+?) {_TO} {_FILE}",
        _append,
    ),
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
        rf"(?:find|grep|search)(?: for)? (?P<text>{_QUOTE}|\S+?)(?: {_IN} {_FILE})?",
        lambda match: Find(_unquoted(match["text"]), _path(match)),
    ),
    (r"pwd|where am i|(?:show|print)(?: the)? working dir(?:ectory)?", lambda _: Show("get_working_dir", {})),
    (r"(?:show )?(?:the |token )*usage", lambda _: Show("get_usage", {})),
    (
        r"(?:undo|revert|take back)(?: (?:that|it|this|everything|(?:the|your) (?:last )?(?:change|edit)s?))?",
        lambda _: Undo(),
    ),
)
