"""What a scripted model answers to one request, and how its bytes travel. Knows neither HTTP nor a vendor's format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Thought:
    """One delta of a model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. ``arguments`` is the very text that is sent, divided into ``fragments`` deltas."""

    name: str
    arguments: str
    id: str = "call_1"
    fragments: int = 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the reply reports as used; ``input`` includes ``cached``."""

    input: int = 12
    output: int = 5
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """Content that each wire format puts into its own words: a ``str`` is one delta of text.

    ``finish`` is the vendor's word for why the reply ended; None takes the usual one.
    """

    parts: tuple[str | Thought | Call, ...]
    tokens: Tokens | None = Tokens()
    finish: str | None = None

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def thoughts(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Thought))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the bytes of a reply travel.

    A write is one event, or ``piece`` bytes; with chunked framing it is one chunk. Before each write but the first the
    server waits ``gap`` seconds; with ``gated`` it waits before every write until the test releases it. After
    ``cut_after`` writes the connection is closed, after ``stall_after`` nothing more comes until the client closes it;
    without ``head`` this happens before even the status line is sent. ``head_gap`` is the time in seconds between the
    single bytes of the head. A broken gzip stream is damaged in its middle.
    """

    framing: Literal["chunked", "length", "close"] = "chunked"
    piece: int | None = None
    newline: str = "\n"
    bom: bool = False
    gap: float = 0.0
    gated: bool = False
    cut_after: int | None = None
    stall_after: int | None = None
    head: bool = True
    head_gap: float = 0.0
    gzip: Literal["whole", "broken"] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    ``body`` is content for the wire format to encode, a tuple of its events or plain ``bytes`` to be sent as they are,
    or None: the vendor's error body for ``status``. ``plain`` answers with one JSON object where a stream was asked
    for. ``content_type`` replaces the usual one.
    """

    body: Said | tuple[bytes, ...] | bytes | None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str | None = None
    plain: bool = False
    delivery: Delivery = Delivery()


Scenario = Sequence[Reply] | Callable[[Any, int], Reply]
"""Replies to one request after the other, starting over after the last; or a function of the request's parsed body and
its number, counted from 1."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format: requests whose path ends in ``path`` are answered in it.

    ``events`` encodes content as a stream, event by event, ``whole`` as a single body; both get the request's parsed
    body too. ``error`` is the body that comes with an HTTP status.
    """

    path: str
    stream_type: str
    events: Callable[[Said, Any], Sequence[bytes]]
    whole: Callable[[Said, Any], bytes]
    error: Callable[[int], bytes]
    streams: Callable[[Any], bool]


GREETING = Said(("Hello", ", wörld", "! 🌍"))
THOUGHTFUL = Said((Thought("Let me "), Thought("think."), *GREETING.parts))
CALL = Call("read_file", '{"path": "README.md"}', fragments=4)
OTHER_CALL = Call("code_grep", '{"pattern": "marvin"}', id="call_2", fragments=3)
DONE = Said(("Done.",))
