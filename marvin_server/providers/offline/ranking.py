"""Which files and passages a question is about, judged from the lines that searches found."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from marvin_server.providers.offline.question import Question
from marvin_server.providers.offline.results import Hit

REACH = 12

KEYWORDS = (
    "def|class|function|func|fn|fun|sub|struct|enum|interface|trait|type|impl|module|namespace|macro|defun|defmacro|"
    "defmethod|const|let|var|val|static|record|object|protocol|package|record|typedef|union|mod|local function"
)
_MODIFIERS = "export|default|async|public|private|protected|internal|static|final|abstract|pub|override|inline|virtual"
DEFINITION = rf"^\s*(?:\(|#define |@)?(?:(?:{_MODIFIERS})(?:\(\w+\))? )*(?:(?:{KEYWORDS})\s+[*(]?)"
_DEFINES = rf"{DEFINITION}(?P<name>[\w.$?!*-]+)"
_ASSIGNS = r"^\s*(?:self\.)?(?P<name>[\w.-]+|\"[\w.-]+\")(?:: [^=]+)? ?(?:=|:=|:)(?!=)"
_HEADING = r"^\s*(?:#{1,6} |=+ |\.\. |\[)(?P<name>.+)"
_TESTS = (
    r"(?i)(?:^|/)(?:tests?|testing|spec|__tests__|fixtures|examples?|bench(?:marks?)?)/"
    r"|(?:^|/)test_|[._]test\.|_spec\.|conftest"
)
_NOISE = (
    r"(?i)(?:\.lock|\.min\.\w+|\.map|\.svg|\.snap|\.ipynb|\.csv|\.pem|\.po|\.log|lock\.\w+|-lock\.ya?ml|RECORD)$"
    r"|(?:^|/)(?:node_modules|vendor|vendored|_vendor|third_party|dist|build|generated|\.git|\.venv|site-packages)/"
    r"|(?:^|/)[^/]*(?:changelog|changes|history|licen[cs]e|news)[^/]*$"
)
_NO_SOURCE = r"(?i)\.(?:md|rst|txt|adoc|org|json)$"


class Passage(Struct, frozen=True):
    """The best place of a file: ``line`` is what it is about, ``score`` compares passages of one question.

    ``share`` is the part of the question, by weight, that the passage holds: 0 to 1.
    """

    path: str
    line: int
    score: float
    share: float
    is_definition: bool


class _Term(Struct, frozen=True):
    """A term as one search saw it: ``weight`` is the higher, the fewer of the files hold it."""

    pattern: re.Pattern[str]
    weight: float


def rank(question: Question, hits: Iterable[Hit]) -> list[Passage]:
    """The best passage of every file, best first; equal scores keep the order of their paths."""
    files: dict[str, dict[int, str]] = {}
    for hit in hits:
        if not question.is_echoed_by(hit.text):
            files.setdefault(hit.path, {})[hit.line] = hit.text
    patterns = [re.compile(term.pattern) for term in question.terms]
    places = {
        path: [sorted(line for line, text in lines.items() if pattern.search(text)) for pattern in patterns]
        for path, lines in files.items()
    }
    terms: list[_Term] = []
    for index, (term, pattern) in enumerate(zip(question.terms, patterns, strict=True)):
        holding = sum(bool(found[index]) for found in places.values())
        terms.append(_Term(pattern, term.weight * math.log(1 + (len(files) + 4) / (holding + 1))))
    passages = [_best(path, lines, terms, places[path], question) for path, lines in files.items()]
    return sorted(passages, key=lambda passage: (-passage.score, passage.path))


def _best(
    path: str, lines: Mapping[int, str], terms: Sequence[_Term], places: Sequence[list[int]], question: Question
) -> Passage:
    """The passage around the best line of a file, with what speaks for the file as a whole added to its score."""
    whole = sum(term.weight for term in terms)
    found = [
        (*_line_score(line, text, terms, places, whole), -line, re.match(_DEFINES, text) is not None)
        for line, text in lines.items()
    ]
    score, share, line, is_definition = max(found)
    score += 0.6 * sum(term.weight for term in terms if term.pattern.search(path))
    score += 0.25 * sum(term.weight for term, own in zip(terms, places, strict=True) if own)
    mass = sum(term.weight * len(own) for term, own in zip(terms, places, strict=True))
    score += 0.15 * whole * math.log1p(mass / whole)
    return Passage(path, -line, score * _standing(path, question), share, is_definition)


def _line_score(
    line: int, text: str, terms: Sequence[_Term], places: Sequence[list[int]], whole: float
) -> tuple[float, float]:
    """How good a line is as the middle of a passage, and the share of the question that is within its reach.

    A term counts less with its distance, more on the line itself, and most when the line defines it.
    """
    defined = re.match(_DEFINES, text)
    named = defined or re.match(_ASSIGNS, text) or re.match(_HEADING, text)
    name = named["name"] if named else ""
    gained = held = 0.0
    for term, own in zip(terms, places, strict=True):
        distance = _distance(line, own)
        if distance > REACH:
            continue
        held += term.weight
        gained += term.weight * (1 - 0.5 * distance / REACH + (0.5 if distance == 0 else 0))
        if term.pattern.search(name):
            gained += term.weight * (1 if defined else 0.8)
    return gained * (0.4 + 0.6 * held / whole), held / whole


def _distance(line: int, places: Sequence[int]) -> float:
    """From ``line`` to the nearest of the sorted ``places``."""
    index = bisect_left(places, line)
    return min((abs(place - line) for place in places[max(0, index - 1) : index + 1]), default=math.inf)


def _standing(path: str, question: Question) -> float:
    """How much a place counts by its kind alone: sources most, lock files and the like hardly at all."""
    if re.search(_NOISE, path):
        return 0.15
    if re.search(_TESTS, path) and not question.mentions("test"):
        return 0.5
    return 0.8 if re.search(_NO_SOURCE, path) else 1.0
