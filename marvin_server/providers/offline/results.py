"""The text that tools answer with, read back as values. Whatever does not look as expected is left out."""

import posixpath
import re

from msgspec import Struct

from marvin_server.providers.offline.turn import Outcome

_HIT = r"(?P<path>.+?):(?P<line>\d+): (?P<text>.*)"
_RANGE = r"\[lines (\d+)-(\d+) of ([\d,]+)\]"
_MORE = "[there are more matches"

EMPTY_FILE = "[the file is empty]"


class Hit(Struct, frozen=True):
    """One line of a file that a search found; ``line`` counts from 1."""

    path: str
    line: int
    text: str


class Excerpt(Struct, frozen=True):
    """Lines of a file from ``start`` on, counted from 1; ``total`` is how many the file has."""

    lines: tuple[str, ...]
    start: int
    total: int

    @property
    def is_to_the_end(self) -> bool:
        return self.start + len(self.lines) - 1 == self.total


def read_hits(outcome: Outcome) -> list[Hit]:
    """The lines ``path:line: text`` of a search; its remarks are skipped.

    In a search of one file, that path is told from a text that looks like ``path:line:`` itself. Where the path is not
    known, such a line counts only if another line shows that there is a file of that name.
    """
    known = posixpath.normpath(str(outcome.call.arguments.get("path", ".")))
    sure: list[tuple[int, Hit]] = []
    unsure: list[tuple[int, Hit]] = []
    for index, line in enumerate(hit_lines(outcome)):
        if own := re.match(rf"{re.escape(known)}:(\d+): ", line):
            sure.append((index, Hit(known, int(own[1]), line[own.end() :])))
        elif match := re.fullmatch(_HIT, line):
            hit = Hit(match["path"], int(match["line"]), match["text"])
            (unsure if re.search(r":\d+: ", hit.text) else sure).append((index, hit))
    names = {hit.path for _, hit in sure}
    return [hit for _, hit in sorted([*sure, *((at, hit) for at, hit in unsure if hit.path in names)])]


def hit_lines(outcome: Outcome) -> list[str]:
    """The lines of a search as they stand, one for each line that it found."""
    return [line for line in outcome.text.split("\n") if re.match(_HIT, line)] if outcome.ok else []


def was_cut(outcome: Outcome) -> bool:
    """Whether the search found more than it shows."""
    return outcome.text.rpartition("\n")[2].startswith(_MORE)


def read_excerpt(outcome: Outcome) -> Excerpt:
    """What ``read_file`` shows of a file: a range, which a first line of its own describes, or all of it."""
    first, *lines = outcome.text.split("\n")
    if "start_line" in outcome.call.arguments and (shown := re.fullmatch(_RANGE, first)):
        return Excerpt(tuple(lines), int(shown[1]), int(shown[3].replace(",", "")))
    lines = [] if outcome.text == EMPTY_FILE else outcome.text.removesuffix("\n").split("\n")
    return Excerpt(tuple(lines), 1, len(lines))


def read_line_count(outcome: Outcome) -> int | None:
    """The number of lines of a file that was too large to be read at once."""
    match = re.search(r" is ([\d,]+) lines \(", outcome.text)
    return int(match[1].replace(",", "")) if match else None


def read_exit_code(output: str) -> tuple[int | None, str]:
    """The exit code at the end of a command's output, negative for a signal, and the output without it.

    It is None when the output does not tell it.
    """
    match = re.search(r"^\[(exit code|ended by signal) (\d+)\]\s*\Z", output, re.MULTILINE)
    if match is None:
        return None, output
    return int(match[2]) * (-1 if match[1] == "ended by signal" else 1), output[: match.start()]


def explain(outcome: Outcome) -> str:
    """One outcome as a sentence for a person."""
    text = outcome.text.strip().removeprefix("Error: ")
    return f"it was not allowed. {text}" if outcome.status == "denied" else text
