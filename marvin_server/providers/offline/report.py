"""What a step of a sequence has to say for itself."""

from collections.abc import Generator, Sequence

from msgspec import Struct

from marvin_server.providers.offline.results import explain
from marvin_server.providers.offline.turn import Call, Outcome


class Report(Struct, frozen=True):
    """The text of a step; one that is not ``done`` ends the sequence."""

    text: str
    done: bool = True


Acting = Generator[Sequence[Call], Sequence[Outcome], Report]


def failed(what: str, outcome: Outcome) -> Report:
    """The report of a step whose tool call did not succeed."""
    return Report(f"{what}: {explain(outcome)}", done=False)


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 line``, ``2 lines``."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
