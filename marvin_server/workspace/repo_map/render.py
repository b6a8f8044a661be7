"""The map as a text for a model: the best files with their most telling lines, as many as a number of tokens allows."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from marvin_server.tokens import estimate
from marvin_server.workspace.names import printable
from marvin_server.workspace.repo_map.outline import Definition, outline
from marvin_server.workspace.repo_map.ranking import Ranked

_FILE = 40  # tokens that a file takes at least, so that no more are read than may be shown
_LINES = 30  # of one file
_ABOUT, _PUBLIC, _INNER, _PRIVATE = 1.0, 0.3, 0.15, 0.05


class _Line(Struct, frozen=True):
    """What may be shown: a file's path where there is no definition. ``worth`` decides which comes first."""

    worth: float
    file: int
    definition: Definition | None = None


def render(
    files: Sequence[Ranked], read: Callable[[str], str | None], named: Callable[[str], str], max_tokens: int
) -> str:
    """The best of ``files``, in their order, each with lines ``NUMBER: definition``; at most ``max_tokens`` tokens, as
    ``tokens.estimate`` counts. Empty when nothing fits. ``named`` says what a file is called."""
    shown = [file for file in files[: max(1, max_tokens // _FILE)] if file.score > 0]
    names = [printable(named(file.path)) for file in shown]
    lines = sorted(
        (line for number, file in enumerate(shown) for line in _lines(number, file, read(file.path))),
        key=lambda line: -line.worth,
    )
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(_text(names, lines[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return _text(names, lines[:low])


def _text(names: Sequence[str], lines: Sequence[_Line]) -> str:
    by_file: dict[int, list[Definition]] = {}
    for line in lines:
        inside = by_file.setdefault(line.file, [])
        if line.definition:
            inside.append(line.definition)
    return "\n".join(
        part
        for number in sorted(by_file)
        for part in (
            names[number],
            *(f"{one.line + 1:>6}: {'  ' * one.depth}{one.text}" for one in sorted(by_file[number], key=_place)),
        )
    )


def _lines(number: int, file: Ranked, text: str | None) -> Iterator[_Line]:
    """The lines of one file. Its path comes before what is in it, and what is around a definition before that."""
    yield _Line(file.score, number)
    worths: list[tuple[Definition, float]] = []
    around: list[int] = []
    for definition in outline(file.path, text) if text is not None else ():
        del around[definition.depth :]
        worth = _worth(file, definition)
        for outer in around:
            worths[outer] = (worths[outer][0], max(worths[outer][1], worth))
        around.append(len(worths))
        worths.append((definition, worth))
    best = sorted(worths, key=lambda pair: -pair[1])[:_LINES]
    for place, (definition, worth) in enumerate(best):
        yield _Line(file.score * worth / (1 + place / 10), number, definition)


def _worth(file: Ranked, definition: Definition) -> float:
    for place, passage in enumerate(file.passages):
        if passage.first <= definition.line < passage.end:
            return _ABOUT / (1 + place / 4)
    if definition.name.startswith("_"):
        return _PRIVATE
    return _INNER if definition.depth else _PUBLIC


def _place(definition: Definition) -> int:
    return definition.line
