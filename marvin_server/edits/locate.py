"""Where the pieces of a patch go in one file, and what its lines become there."""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.edits.hunks import Region, matched
from marvin_server.edits.ladder import EXACT, LADDER, Lines, Rung, plain
from marvin_server.edits.lines import bare, end_at, ended
from marvin_server.edits.patch import Piece

_MOST_FUZZ = 2  # lines of context that may be wrong at each end, as in GNU patch
_SHOWN_PLACES = 20
_TRIED_CONTEXTS = 50


class Found(Struct, frozen=True):
    """The piece as it fits at the index ``start``: lines at its ends may have been left out.

    ``off`` is how many lines further down it is than it says, ``note`` how it does not fit exactly, ``indent`` what its
    lines must lose and get in front.
    """

    piece: Piece
    start: int
    off: int = 0
    note: str = ""
    indent: tuple[str, str] = ("", "")


class Missing(Struct, frozen=True):
    """There is no place for the piece."""

    reason: str = "these lines were not found; the file may have changed since it was read."


class Several(Struct, frozen=True):
    """There is more than one place; ``lines`` (1-based) are the first of them."""

    lines: tuple[int, ...]
    more: bool


class Locator:
    """Finds the places of pieces in the ``lines`` of one file."""

    def __init__(self, lines: Sequence[str], pieces: Sequence[Piece]) -> None:
        self._lines = lines
        self._past: dict[tuple[str, int], int | None] = {}
        self._index = Lines(lines, (line for piece in pieces for line in (*piece.contexts, *piece.old)))

    def find(self, piece: Piece, *, after: int, drift: int) -> Found | Missing | Several:
        """The place of ``piece`` from the index ``after`` on, else anywhere; never a guess among several.

        ``drift`` is how many lines further down than they say the numbers of the pieces before it were.
        """
        expected = None if piece.at is None else piece.at + drift - bool(piece.old)
        if not piece.old:
            return self._insertion(piece, after, expected)
        for trial in _trials(piece):
            for start in dict.fromkeys((after, 0)):
                for rung in LADDER:
                    found = self._on(rung, trial, start, expected)
                    if not isinstance(found, Missing):
                        return found
        for fuzz in range(1, _MOST_FUZZ + 1):
            if expected is None:
                break
            trial, dropped = _without_context(piece, fuzz)
            if any(line.strip() for line in trial.old):
                found = self._on(EXACT, trial, after, expected + dropped)
                if isinstance(found, Found):
                    return replace(found, note=_and(found.note, f"fits with fuzz {fuzz}"))
        return self._missing(piece, after)

    def find_block(self, piece: Piece) -> Found | Missing | Several:
        """The only place of ``piece`` in the whole file. What is found of it keeps the lines that both sides have."""
        for trial in _trials(piece):
            for rung in LADDER:
                found = self._on(rung, trial, 0, None)
                if isinstance(found, Found):
                    return replace(found, piece=_with_body(trial, matched(trial.old, trial.new)))
                if isinstance(found, Several):
                    return found
        return Missing()

    def _insertion(self, piece: Piece, after: int, expected: int | None) -> Found | Missing | Several:
        """The place of lines that replace none: where the number says, after the contexts, else at the end."""
        if expected is not None:
            if 0 <= expected <= len(self._lines):
                return Found(piece, expected)
            above = f"the hunks before it fit so far up that it would be {-expected} lines above the file."
            below = f"it adds lines after line {expected}, and the file has {len(self._lines)}."
            return Missing(above if expected < 0 else below)
        if piece.contexts:
            starts = list(islice(self._past_contexts(piece.contexts, after), _SHOWN_PLACES + 1))
            if len(starts) > 1 and not piece.at_end:
                return _several([start - 1 for start in starts])
            if not starts:
                return self._missing(piece, after)
            if not piece.at_end:
                return Found(piece, starts[0])
        end = len(self._lines)
        return Found(piece, end - 1 if end and not bare(self._lines[-1]) else end)

    def _on(self, rung: Rung, piece: Piece, after: int, expected: int | None) -> Found | Missing | Several:
        old = piece.old
        if piece.at_end:
            place = len(self._lines) - len(old)
            return self._found(piece, place, expected, rung) if self._is_at(piece, rung, place) else Missing()
        if expected is not None and self._is_at(piece, rung, expected):
            return self._found(piece, expected, expected, rung)
        places = dict.fromkeys(islice(self._places(piece, rung, after), _SHOWN_PLACES + 1))
        if places and piece.contexts:
            places.clear()
            for start in self._past_contexts(piece.contexts, after):
                if (place := next(self._places(piece, rung, start), None)) is not None:
                    places[place] = None
                if len(places) > _SHOWN_PLACES:
                    break
        if len(places) > 1:
            return _several(list(places))
        return self._found(piece, next(iter(places)), expected, rung) if places else Missing()

    def _places(self, piece: Piece, rung: Rung, start: int) -> Iterator[int]:
        """The indices from ``start`` on where ``piece`` fits; if indentation differs, then alike on every line."""
        for place in self._index.places(piece.old, rung, start):
            if self._indent(piece, rung, place) is not None:
                yield place

    def _is_at(self, piece: Piece, rung: Rung, place: int) -> bool:
        return self._index.is_at(piece.old, rung, place) and self._indent(piece, rung, place) is not None

    def _found(self, piece: Piece, place: int, expected: int | None, rung: Rung) -> Found:
        off = 0 if expected is None else place - expected
        indent = self._indent(piece, rung, place) or ("", "")
        return Found(piece, place, off, _and(_forgiven(rung), _lines_off(off)), indent)

    def _past_contexts(self, contexts: Sequence[str], after: int) -> Iterator[int]:
        """The indices after the last of ``contexts``, for the first places of the first of them from ``after`` on."""
        start: int | None = after
        for _ in range(_TRIED_CONTEXTS):
            first = start = self._context(contexts[0], start)
            for context in contexts[1:]:
                start = None if start is None else self._context(context, start)
            if first is None or start is None:
                return
            yield start
            start = first

    def _context(self, context: str, start: int) -> int | None:
        """The index after the first line from ``start`` on that is, or else begins like, ``context``."""
        if (context, start) not in self._past:
            places = (next(self._index.places([context], rung, start), None) for rung in LADDER)
            place = next((place for place in places if place is not None), None)
            place = self._index.beginning(context, start) if place is None else place
            self._past[context, start] = None if place is None else place + 1
        return self._past[context, start]

    def _missing(self, piece: Piece, after: int) -> Missing:
        start = after
        for context in piece.contexts:
            found = self._context(context, start)
            if found is None:
                return Missing(f"there is no line like the context '@@ {context}' from line {start + 1} on.")
            start = found
        if piece.at_end:
            return Missing("these lines are not the last ones of the file, as the patch says.")
        if piece.contexts:
            return Missing("these lines were not found after the context that '@@' names.")
        return Missing()

    def _indent(self, piece: Piece, rung: Rung, place: int) -> tuple[str, str] | None:
        """What each old line must lose and get in front to be indented as at ``place``; None if that differs."""
        if not rung.ignores_indentation:
            return "", ""
        pairs = [
            (_margin(plain(bare(there))), _margin(plain(bare(line))))
            for there, line in zip(self._lines[place:], piece.old, strict=False)
            if line.strip()
        ]
        for there, line in pairs[:1]:
            if there.endswith(line):
                lose, get = "", there[: len(there) - len(line)]
            elif line.endswith(there):
                lose, get = line[: len(line) - len(there)], ""
            else:
                return None
            alike = all(get + own.removeprefix(lose) == theirs and own.startswith(lose) for theirs, own in pairs)
            return (lose, get) if alike else None
        return "", ""


def regions(found: Found, lines: Sequence[str]) -> list[Region]:
    """What ``found`` changes in ``lines``, run by run; lines that stay are the file's own.

    New lines end as the patch writes them where its old lines fit to the last character, or where it has none and
    writes carriage returns; else they end like the lines in whose place they come.
    """
    old = found.piece.old
    there = lines[found.start : found.start + len(old)]
    exact = all(line.removesuffix("\n") == own for line, own in zip(there, old, strict=True))
    exact = exact and (bool(old) or any(line.endswith("\r") for line in found.piece.body))
    result: list[Region] = []
    start = end = found.start
    new: list[str] = []
    for line in (*found.piece.body, " "):
        if line[0] == "+":
            new.append(line[1:] + "\n" * exact)
        elif line[0] == "-":
            end += 1
        else:
            if new or end > start:
                if not exact:
                    last = max(start, end - 1)
                    ends = (end_at(lines, min(start + index, last)) for index in range(len(new)))
                    new = [_fitted(line, found.indent) + line_end for line, line_end in zip(new, ends, strict=True)]
                result.append(Region(start, end, tuple(new)))
            start = end = end + 1
            new = []
    last = result[-1] if result else None
    if last and last.new and last.end == len(lines) and opens(found.piece, is_open=not all(map(ended, lines[-1:]))):
        final = last.new[-1].removesuffix("\n") if exact else bare(last.new[-1])
        result[-1] = Region(last.start, last.end, (*last.new[:-1], final))
    return result


def opens(piece: Piece, *, is_open: bool) -> bool:
    """Whether the file ends without a line end after ``piece`` when it ``is_open`` before."""
    return is_open if piece.final_newline == "kept" else piece.final_newline == "removed"


def _fitted(line: str, indent: tuple[str, str]) -> str:
    """The new ``line`` without its line end, indented by what ``indent`` says."""
    lose, get = indent
    text = line.removesuffix("\r")
    return get + text.removeprefix(lose) if text.strip() else text


def finished(lines: Sequence[str], changed: Sequence[Region], *, open_end: bool) -> list[Region]:
    """``changed``, with the file's last line made to have no line end if ``open_end``, and to have one if not."""
    result = list(changed)
    count = len(lines)
    reaches_end = bool(result) and result[-1].end == count
    was_open = bool(lines) and not ended(lines[-1])
    if (not reaches_end and was_open == open_end) or (not was_open and not open_end):
        return result
    last = result.pop() if reaches_end else Region(count, count, ())
    while (last.start == count or not last.new) and last.start > 0:
        if result and result[-1].end == last.start:
            before = result.pop()
            last = Region(before.start, last.end, before.new + last.new)
        else:
            last = Region(last.start - 1, last.end, (lines[last.start - 1], *last.new))
    end = end_at(lines, count - 1)
    new = [line if ended(line) else line + end for line in last.new]
    if open_end and new:
        new[-1] = bare(last.new[-1]) if ended(last.new[-1]) else last.new[-1]
    return [*result, Region(last.start, last.end, tuple(new))]


def _trials(piece: Piece) -> list[Piece]:
    """``piece``, and itself without an empty last line, which often stands for the line end before it."""
    last = next((i for i in reversed(range(len(piece.body))) if piece.body[i][0] != "+"), None)
    if last is None or bare(piece.body[last][1:]) or len(piece.old) == 1:
        return [piece]
    body = [*piece.body[:last], *piece.body[last + 1 :]]
    if piece.body[last][0] == "-" and bare(body[-1]) == "+":
        body.pop()
    return [piece, _with_body(piece, body)]


def _without_context(piece: Piece, fuzz: int) -> tuple[Piece, int]:
    """``piece`` without up to ``fuzz`` context lines at each end, and how many were dropped in front."""
    body = list(piece.body)
    front = 0
    while front < fuzz and body and body[0][0] == " ":
        del body[0]
        front += 1
    for _ in range(fuzz):
        if body and body[-1][0] == " ":
            body.pop()
    return _with_body(piece, body), front


def _with_body(piece: Piece, body: Sequence[str]) -> Piece:
    return replace(piece, body=tuple(body))


def _several(places: Sequence[int]) -> Several:
    return Several(tuple(place + 1 for place in places[:_SHOWN_PLACES]), len(places) > _SHOWN_PLACES)


def _forgiven(rung: Rung) -> str:
    return f"fits but for {rung.forgives}" if rung.forgives else ""


def _lines_off(offset: int) -> str:
    if not offset:
        return ""
    lines = "line" if abs(offset) == 1 else "lines"
    return f"fits {abs(offset)} {lines} {'further down' if offset > 0 else 'further up'} than it says"


def _and(*notes: str) -> str:
    return ", ".join(filter(None, notes))


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
