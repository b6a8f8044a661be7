"""The text that tools answer with, read back as values. Whatever does not look as expected is left out."""

import re

from msgspec import Struct

from marvin_server.providers.offline.turn import Outcome

_HIT = r"(?m)^(?P<path>[^\n:]+):(?P<line>\d+): ?(?P<text>.*)$"
_RANGE = r"\[lines \d+-\d+ of [\d,]+\]"

EMPTY_FILE = "[the file is empty]"


class Hit(Struct, frozen=True):
    """One line of a file that a search found; ``line`` counts from 1."""

    path: str
    line: int
    text: str


def read_hits(output: str) -> list[Hit]:
    """The lines ``path:line: text`` of a search; its remarks and context lines are skipped."""
    return [Hit(match["path"], int(match["line"]), match["text"]) for match in re.finditer(_HIT, output)]


def was_cut(output: str) -> bool:
    """Whether the search found more than it shows."""
    return output.rpartition("\n")[2].startswith("[there are more matches")


def read_lines(output: str) -> list[str]:
    """The lines of a file that ``read_file`` shows, without its own first line about the range."""
    lines = output.removesuffix("\n").split("\n")
    if output == EMPTY_FILE:
        return []
    return lines[1:] if re.fullmatch(_RANGE, lines[0]) else lines


def read_exit_code(output: str) -> tuple[int | None, str]:
    """The exit code that a command's output ends with, None when it tells none; and the output without it."""
    match = re.search(r"^\[exit code (-?\d+)\]\s*\Z", output, re.MULTILINE)
    return (int(match[1]), output[: match.start()]) if match else (None, output)


def explain(outcome: Outcome) -> str:
    """One outcome as a sentence for a person."""
    text = outcome.text.strip().removeprefix("Error: ")
    return f"it was not allowed. {text}" if outcome.status == "denied" else text
