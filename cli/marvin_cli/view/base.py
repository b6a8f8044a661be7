"""What a terminal shows of a session, and what it asks a person: one interface, three implementations.

A view knows neither providers nor tools: it gets events, and lines to show; what a person types it hands on as it is.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from marvin_server.events import Decision, Event, Permission

Tone = Literal["plain", "output", "note", "warning", "error"]


class Entered(Struct, frozen=True):
    """What a person has entered, as it was typed or pasted. It ``steers`` where they want the running turn to read it,
    not the next one."""

    text: str
    steers: bool = False


class Interrupted(Struct, frozen=True):
    """The person wants to stop (Ctrl+C). ``draft`` is what they had typed and what the view has cleared, often ""."""

    draft: str = ""


class Ended(Struct, frozen=True):
    """Nothing more will be entered: Ctrl+D at an empty prompt, the end of the input, or a terminal that is gone.
    ``draft`` is what was typed and not entered."""

    draft: str = ""


Input = Entered | Interrupted | Ended


class Reply(Struct, frozen=True):
    """What a person says to a question. ``command`` goes with ``allow_edited``, a ``note`` with a denial."""

    decision: Decision
    command: str | None = None
    note: str | None = None


class Choice(Struct, frozen=True):
    """One of those that a person chooses from; ``description`` is a few words more."""

    value: str
    label: str
    description: str = ""


def matching(choices: Sequence[Choice], typed: str) -> list[Choice]:
    """Those in which all the words that are typed are found."""
    words = typed.casefold().split()
    return [
        choice
        for choice in choices
        if all(word in f"{choice.value} {choice.label} {choice.description}".casefold() for word in words)
    ]


class Candidate(Struct, frozen=True):
    """A way to go on with what is typed: ``text`` replaces the ``length`` characters before the cursor."""

    text: str
    length: int
    label: str
    description: str = ""


class Standing(Struct, frozen=True):
    """How it stands with the session, for the bar at the bottom. ``context`` is tokens in use and the model's size,
    ``cost_usd`` is None while a price is unknown; ``queued`` are the prompts that wait, ``busy`` says what runs."""

    provider: str
    model: str
    profile: str
    mode: str
    messages: int = 0
    context: tuple[int, int] | None = None
    cost_usd: float | None = 0.0
    busy: str = ""
    queued: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


class View(Protocol):
    """A terminal. ``show`` and ``say`` return at once; what a reader of the terminal does not take waits in the view.

    One ``read``, one ``ask`` or one ``choose`` is under way at a time for each; cancelling one takes it off the screen.
    """

    async def __aenter__(self) -> "View": ...

    async def __aexit__(self, *_: object) -> None:
        """Leave the terminal as it was found."""
        ...

    def show(self, event: Event) -> None:
        """Show what happens in a turn. The events of a turn come in order, with ``turn.finished`` last."""
        ...

    def say(self, text: str, tone: Tone = "plain") -> None:
        """Show lines of Marvin's own. Markdown in plain ones is rendered where the view can; ``output`` is what a
        command of the person's has printed: shown as it is, unfolded."""
        ...

    def echo(self, text: str) -> None:
        """Show a prompt that was entered, as part of the conversation; it may have come from elsewhere."""
        ...

    def stand(self, standing: Standing) -> None:
        """Show how it stands."""
        ...

    async def read(self, draft: str = "") -> Input:
        """What is entered next, while a turn runs or not; ``draft`` is what the line begins with."""
        ...

    def end(self) -> None:
        """Have ``read`` give ``Ended`` with what is typed, as where the terminal is gone."""
        ...

    async def ask(self, permission: Permission) -> Reply:
        """The person's answer to a question, with all that a yes covers shown. There is no default: what is typed
        ahead, an empty line and the end of the input are no yes."""
        ...

    async def choose(self, title: str, choices: Sequence[Choice]) -> str | None:
        """The value of one choice, found by typing a part of it; None when the person wants none."""
        ...

    async def aside(self, run: Callable[[], int]) -> int:
        """Give the terminal to another program, such as an editor, in a thread; its exit code."""
        ...

    def clear(self) -> None:
        """Begin with an empty screen; the scrollback is left."""
        ...

    @property
    def themes(self) -> Sequence[str]:
        """The themes that ``wear`` takes."""
        ...

    def wear(self, theme: str) -> None:
        """Show what comes from now on in the colours of this theme."""
        ...


class Source(Protocol):
    """Where completions and earlier lines come from."""

    async def complete(self, text: str, cursor: int) -> Sequence[Candidate]:
        """What may follow before ``cursor`` (characters from the start of ``text``), best first."""
        ...

    def earlier(self) -> Sequence[str]:
        """The lines that were entered before, the oldest first, of this profile."""
        ...

    def keep(self, text: str) -> None:
        """Remember a line that was entered."""
        ...
