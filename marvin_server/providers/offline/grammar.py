"""Plain instructions in English, such as ``replace A with B in FILE, then run the tests``, read into values.

A step ends at ``then`` or at a new line, outside quotes; a numbered list is a sequence too. Text for a file goes on to
the end of the prompt, unless it is fenced or quoted, or what follows it is itself an instruction.
"""

import re
from itertools import islice

from msgspec import Struct

from marvin_server.providers.offline.forms import ONE_LINE, WITH_TEXT
from marvin_server.providers.offline.instructions import Change, Find, Instruction, Read, Show, Unclear, Undo
from marvin_server.providers.offline.quoting import CLOSING, QUOTE, without_quotations

MAX_STEPS = 20
_LONGEST_STEP = 4_000

_SEPARATOR = rf"(?i){QUOTE}|(?P<end>[,.;]?\s+(?:and\s+)?then\b,?\s+|,\s*then\s+|\s*\n\s*)"
_JOINT = r"(?i)[,.;]?\s+(?:and\s+)?then\b,?\s*\Z"
_ITEM = r"(?m)^[ \t]*(?:\d+[.)]|[-*•])[ \t]+"
_ASKING = r"(?:can|could|would|will) you\b"
_POLITE = (
    r"(?i)(?:(?:please|hey|hi|hello|marvin|now|and|then|first|finally|next|ok|okay|just|kindly|so)\b[, ]*"
    rf"|{_ASKING}[, ]*|i(?: want|'d like| would like) you to\b[, ]*)*"
)
_FENCED = r"(?sm)\s*(?P<marks>`{3,}|~{3,})[^\n`]*\n(?P<body>.*?)(?:^|\n)(?P=marks)[ \t]*(?:\n|\Z)"
_DESCRIPTION = rf"(?i)(?:a|an|the|some|my|our|your|its|all|tests?|code|something|{QUOTE})(?!\w)"
_NEXT_STEP = (
    r"(?i)\sand\s+(?:run|execute|show|read|open|commit|tell|explain|append|add|create|write|replace|rename|delete|test"
    r")\b"
)

_ONE_STEP = "Put `then` between two steps, and say of each exactly what to do."
_NO_QUESTION = "A question changes nothing here. Say it as an instruction, without the question mark."
_EXACT_TEXT = 'Quote the text itself: `create notes.md with "First draft"`; or put it after a colon, or into a fence.'


class _Content(Struct, frozen=True):
    """Text for a file. It is ``exact`` when quotes, a fence or a line break set it off from the sentence."""

    text: str
    rest: str
    exact: bool


Taken = tuple[Instruction | Unclear, str]


def read_instructions(prompt: str) -> list[Instruction] | Unclear | None:
    """The steps of ``prompt`` in order; ``Unclear`` when it is an instruction only in part; None when it is none."""
    text = prompt.strip()
    asked = _asks(text)
    pieces = [text]
    if re.match(_ITEM, text) and "```" not in text:
        pieces = [item.strip() for item in re.split(_ITEM, text) if item.strip()]
    steps: list[Instruction] = []
    understood: list[str] = []
    for piece in pieces:
        rest = piece
        while rest:
            taken = _take(rest, asked=asked)
            if taken is None or len(steps) == MAX_STEPS:
                return Unclear("; ".join(understood), rest, _ONE_STEP) if steps else None
            step, after = taken
            if isinstance(step, Unclear):
                return Unclear("; ".join(filter(None, [*understood, step.understood])), step.rest, step.advice)
            steps.append(step)
            understood.append(re.sub(_JOINT, "", rest.removesuffix(after)).strip())
            rest = after
    return steps or None


def _asks(text: str) -> bool:
    """Whether ``text`` begins with a request in the form of a question: ``Could you …``."""
    polite = re.match(_POLITE, text)
    return polite is not None and re.search(rf"(?i){_ASKING}", polite[0]) is not None


def _take(text: str, *, asked: bool, nested: bool = False) -> Taken | None:
    """The first instruction of ``text`` and the text after it. A ``nested`` look only asks whether there is one."""
    asked = asked or _asks(text)
    polite = re.match(_POLITE, text)
    text = text[polite.end() :] if polite else text
    for header, make in WITH_TEXT:
        if match := re.match(header, text, re.IGNORECASE):
            content = _content(text[match.end() :], nested)
            step = make(match, content.text)
            if step and not content.exact and not match[0].rstrip().endswith(":"):
                step = _inexact(match[0], content.text, step, asked=asked) or make(match, _polished(content.text))
            if step:
                return step, content.rest
    head, rest = _end(text, nested)
    if len(head) > _LONGEST_STEP:
        return None
    step = _single(head, asked=asked) or _first_half(head, asked=asked)
    return (step, rest) if step else None


def _inexact(header: str, text: str, step: Instruction, *, asked: bool) -> Unclear | None:
    """What speaks against ``step``, which takes the words of a sentence as text for a file."""
    if text.rstrip().endswith("?") and not asked:
        return Unclear("", f"{header}{text}".strip(), _NO_QUESTION)
    is_file = isinstance(step, Change) and step.tool == "create_file"
    if is_file and (re.match(_DESCRIPTION, text) or re.search(_NEXT_STEP, text)):
        return Unclear(header.strip(), text.strip(), _EXACT_TEXT)
    return None


def _polished(text: str) -> str:
    """``text`` without the courtesy of the sentence that it ends."""
    stripped = re.sub(r"(?i)(?:,\s+please[.!?]*|\?)?\s*\Z", "", text)
    return stripped + "\n" if stripped else ""


def _single(head: str, *, asked: bool) -> Instruction | Unclear | None:
    """The one instruction that all of ``head`` is."""
    for pattern, make in ONE_LINE:
        if (match := re.fullmatch(f"(?:{pattern}){CLOSING}", head, re.IGNORECASE)) and (step := make(match)):
            if head.endswith("?") and not asked and _acts(step) and not head.startswith("$"):
                return Unclear("", head, _NO_QUESTION)
            return step
    return None


def _acts(step: Instruction | Unclear) -> bool:
    """Whether ``step`` runs or changes something."""
    return not isinstance(step, Read | Find | Show | Undo | Unclear)


def _first_half(head: str, *, asked: bool) -> Unclear | None:
    """Why ``head`` is no instruction, when it would be one that acts up to an ``and``."""
    for joint in islice(re.finditer(r"(?i),?\s+and\s|,\s|[.!?]\s", without_quotations(head)), MAX_STEPS):
        step = _single(head[: joint.start()], asked=asked)
        if step and _acts(step):
            return Unclear(head[: joint.start()], head[joint.start() :].strip(" ,."), _ONE_STEP)
    return None


def _end(text: str, nested: bool) -> tuple[str, str]:
    """The step that ``text`` begins with, and what follows it. A shell's ``; then`` does not end a step."""
    for match in re.finditer(_SEPARATOR, text[:_LONGEST_STEP]):
        if match["end"]:
            head, rest = text[: match.start()].strip(), text[match.end() :]
            if not match["end"].startswith(";") or (not nested and _begins_step(rest)):
                return head, rest
    return text.strip(), ""


def _begins_step(text: str) -> bool:
    return _take(text[:_LONGEST_STEP], asked=True, nested=True) is not None


def _content(text: str, nested: bool) -> _Content:
    """Text for a file, which ends in a newline unless it is empty, and what follows it."""
    if fenced := re.match(_FENCED, text):
        body = fenced["body"]
        return _Content(body + "\n" if body else "", text[fenced.end() :].strip(), exact=True)
    if text.startswith("\n"):
        return _Content(text.strip("\n") + "\n", "", exact=True)
    if quoted := re.match(QUOTE, text):
        after = text[quoted.end() :]
        if re.fullmatch(CLOSING, after, re.IGNORECASE):
            return _Content(quoted[0][1:-1] + "\n", "", exact=True)
        if (end := re.match(_SEPARATOR, after)) and end["end"]:
            return _Content(quoted[0][1:-1] + "\n", after[end.end() :], exact=True)
    if not nested:
        ends = (match for match in re.finditer(_SEPARATOR, text[:_LONGEST_STEP]) if match["end"])
        for end in islice(ends, MAX_STEPS):
            if _begins_step(text[end.end() :]):
                return _Content(text[: end.start()].strip() + "\n", text[end.end() :], exact=False)
    return _Content(text.strip() + "\n" if text.strip() else "", "", exact=False)
