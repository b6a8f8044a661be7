"""What a person types after ``/compact``, what it shows before anything goes, and what comes of it."""

from collections.abc import Sequence

from marvin_server.agent import compaction
from marvin_server.edits.unified import difference
from marvin_server.errors import UsageError
from marvin_server.events import Compacted
from marvin_server.messages import Message
from marvin_server.session.session import Session
from marvin_server.workspace.encodings import readable

ARGUMENT = "[--ask] [WHAT TO KEEP IN VIEW]|undo"
_ASK, _UNDO = "--ask", "undo"
_SHOWN = 400  # characters of a message in the diff
_TOPICS = 15


async def run(session: Session, typed: str) -> Sequence[str]:
    """Carry out what was typed and give the lines to be shown. With ``--ask`` nothing goes: the same without it carries
    out what is shown. Raises ``MarvinError``, with nothing changed."""
    if typed == _UNDO:
        return [(await session.take_back_summary()).line]
    focus, asks = read(typed)
    gone = await session.older()
    compacted = await session.compact(focus, preview=asks)
    if not asks:
        return [*plan(gone), compacted.line]
    again = f"/compact {focus}".rstrip()
    return [*plan(gone), *shown(gone, compacted).splitlines(), f"{size(compacted)}; {again} carries it out"]


def read(typed: str) -> tuple[str, bool]:
    """What the person wants to be kept in view, and whether they want to be asked first."""
    words = typed.split()
    asks = bool(words) and words[0] == _ASK
    if words[:1] == [_UNDO] or (words and words[0].startswith("--") and not asks):
        raise UsageError(f"/compact takes {ARGUMENT}")
    return typed.strip().removeprefix(_ASK).strip() if asks else typed.strip(), asks


def plan(gone: Sequence[Message]) -> list[str]:
    """What would go, in a few lines."""
    topics = compaction.topics(gone)
    more = [f"  … and {len(topics) - _TOPICS} more"] if len(topics) > _TOPICS else []
    about = ", about:" if topics else ""
    count = f"{len(gone):,} {'message' if len(gone) == 1 else 'messages'}"
    return [f"A summary takes the place of {count}{about}", *(f"  - {topic}" for topic in topics[:_TOPICS]), *more]


def size(compacted: Compacted) -> str:
    """What is gained."""
    return f"about {compacted.tokens_before:,} tokens become {compacted.tokens_after:,}"


def shown(gone: Sequence[Message], compacted: Compacted) -> str:
    """The messages that go, each cut short, and the summary in their place, as a unified diff."""
    before = "".join(f"{line}\n" for message in gone for line in compaction.lines(message, _SHOWN))
    after = compacted.message.text.rstrip() + "\n" if compacted.message else ""
    return readable(difference("conversation", before, after).diff)
