"""Which files matter most for a question: by their words, by what depends on what, and by their best passage."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from marvin_server.workspace.repo_map.graph import pagerank
from marvin_server.workspace.repo_map.index import Index, Word
from marvin_server.workspace.repo_map.passages import Passage, passages
from marvin_server.workspace.repo_map.words import names, stems_of

_MOST_WORDS = 24
_END = 1_000  # characters
_FILLERS = (
    b"about and any are but can class code could did does file for from function had has have how into its just may "
    b"method might must not please shall should some than that the their them then there these they this those was "
    b"were what when where whether which who whose why will with would you your"
)
_TEST = re.compile(r"(^|[/_.-])(tests?|specs?|conftest)([/_.-]|$)|_test\.|\.spec\.", re.IGNORECASE)
_OF_TESTS = 0.6
_TITLED = 1.0
_NAMED = 2.0
_CANDIDATES = 40
_SEEDS = 12
_BY_WORDS = 0.3
_BY_GRAPH = 0.1


class Ranked(Struct, frozen=True):
    """A file with its score, and its passages that the question is about, the best first."""

    path: str
    score: float
    passages: Sequence[Passage] = ()


def ranked(index: Index, query: str, focus: Sequence[str], read: Callable[[str], str | None]) -> list[Ranked]:
    """The files that matter for ``query`` and for who works on the files ``focus``, the best first; with neither, those
    that most of the others depend on. ``read`` gives the text of a file. Of a long ``query`` both ends count."""
    if len(query) > 2 * _END:
        query = f"{query[:_END]} {query[-_END:]}"
    numbers = {path: number for number, path in enumerate(index.paths)}
    at_work = [numbers[path] for path in focus if path in numbers]
    words = _telling(index, query)
    by_words = _by_words(index, query, words)
    if query.strip() and not by_words and not at_work:
        return []
    best = sorted(by_words, key=lambda number: (-by_words[number], number))
    rank = _by_graph(index, by_words, best[:_SEEDS], at_work, read)
    highest_words = max(by_words.values(), default=1.0)
    highest_rank = max(rank.values(), default=1.0)
    first = {
        number: _BY_WORDS * by_words.get(number, 0.0) / highest_words + _BY_GRAPH * rank.get(number, 0.0) / highest_rank
        for number in {*best[: 4 * _CANDIDATES], *rank}
    }
    candidates = sorted(first, key=lambda number: (-first[number], number))[:_CANDIDATES]
    whole = sum(word.weight for word in words)
    asks_for_tests = bool(re.search(r"\b(tests?|specs?)\b", query, re.IGNORECASE))
    found: list[Ranked] = []
    for number in candidates:
        path = index.paths[number]
        text = read(path) if words else None
        parts = passages(path, text, words)[:5] if text is not None else []
        passage = parts[0].score / whole if parts else 0.0
        less = _OF_TESTS if _TEST.search(path) and not asks_for_tests else 1.0
        found.append(Ranked(path, (first[number] + passage) * less, parts))
    return sorted(found, key=lambda one: (-one.score, one.path))


def _telling(index: Index, query: str) -> list[Word]:
    """The words of ``query`` that tell most."""
    words = map(index.with_word, stems_of(query.encode("utf-8", "replace")) - _fillers())
    return sorted((word for word in words if word.files), key=lambda word: (-word.weight, word.stem))[:_MOST_WORDS]


def _by_words(index: Index, query: str, words: Sequence[Word]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for word in words:
        for number in word.files:
            scores[number] = scores.get(number, 0.0) + word.weight * (1 + _TITLED * (number in word.titled))
    for number, score in scores.items():
        scores[number] = 2 * score / (1 + math.sqrt(index.length(number)))
    for definers in index.defining(set(filter(_is_code, names(query.encode("utf-8", "replace"))))).values():
        for number in definers:
            scores[number] = scores.get(number, 0.0) + _NAMED * math.log(1 + len(index.paths) / len(definers))
    return scores


@cache
def _fillers() -> set[str]:
    return stems_of(_FILLERS)


def _is_code(name: bytes) -> bool:
    """Whether a word is a name that nobody writes in prose."""
    return b"_" in name or not (name[1:].islower() or name.isupper())


def _by_graph(
    index: Index,
    scores: Mapping[int, float],
    best: Sequence[int],
    at_work: Sequence[int],
    read: Callable[[str], str | None],
) -> dict[int, float]:
    """The rank of what the best files and the files at work depend on; without any, of what the most depend on."""
    seeds: dict[int, float] = {}
    for number in best:
        seeds[number] = seeds.get(number, 0.0) + scores[number]
    share = sum(seeds.values()) or 1.0
    for number in at_work:
        seeds[number] = seeds.get(number, 0.0) + share / len(at_work)
    if not seeds:
        return index.depended_on()

    def dependencies(number: int) -> dict[int, float]:
        text = read(index.paths[number])
        return index.dependencies(number, names(text.encode("utf-8", "replace"))) if text else {}

    whole = sum(seeds.values())
    return pagerank({number: weight / whole for number, weight in seeds.items()}, dependencies)
