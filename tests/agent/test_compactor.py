"""When a conversation is made smaller, and what it costs to try."""

from collections.abc import Callable

from marvin_server.agent.budget import Budget
from marvin_server.agent.compactor import Compactor, applied
from marvin_server.messages import Message, Text, user_message
from marvin_server.providers.base import ModelRequest
from marvin_server.session.models import ModelFacts

SMALL = ModelFacts(context=8_000)


class Writer:
    """Writes the same summary whenever it is asked, and keeps what it was told."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.systems: list[str] = []

    async def __call__(self, build: Callable[[int], ModelRequest]) -> Message | None:
        self.systems.append(build(2_000).system)
        return Message("assistant", (Text(self.text),), model="m")


def compactor(write: Writer) -> Compactor:
    return Compactor(Budget(), write, lambda: (), lambda: ())


def request(history: list[Message]) -> ModelRequest:
    return ModelRequest("Be brief.", history, ())


async def test_nothing_happens_while_there_is_room() -> None:
    made = compactor(Writer("short"))
    assert made.due(request([user_message("word " * 100) for _ in range(20)]), "m", SMALL) is None


async def test_a_full_conversation_becomes_smaller_until_there_is_room() -> None:
    made = compactor(Writer("## Task\nGo on."))
    history = [user_message("word " * 800) for _ in range(20)]
    while why := made.due(request(history), "m", SMALL):
        compacted = await made.compact(history, why)
        assert compacted is not None
        history = applied(history, compacted)
    assert made.budget.used <= made.budget.window.compact


async def test_a_summary_that_is_no_shorter_is_asked_for_once() -> None:
    write = Writer("A very long summary. " * 500)
    made = compactor(write)
    history = [user_message("word " * 640), *(user_message("word " * 400) for _ in range(8))]
    asked = ModelRequest("rule " * 4_300, history, ())
    assert made.due(asked, "m", SMALL) == "budget"
    assert len(made.older(history)) == 1
    assert await made.compact(history, "budget") is None
    assert made.due(asked, "m", SMALL) is None
    assert len(write.systems) == 1


async def test_what_the_vendor_has_refused_is_too_long_from_then_on() -> None:
    made = compactor(Writer("## Task\nGo on."))
    history = [user_message("word " * 400) for _ in range(20)]
    unknown = ModelFacts()
    assert made.due(request(history), "m", unknown) is None
    made.overflowed()
    assert made.due(request(history), "m", unknown) == "overflow"
    assert await made.compact(history, "overflow")
    assert made.due(request(history), "m", unknown) == "budget"
    assert made.due(request(history), "another", unknown) is None


async def test_the_thoughts_that_a_server_leaves_in_the_text_are_no_summary() -> None:
    history = [user_message("word " * 400) for _ in range(20)]
    for text, by in (("<think>Well, </think>\n## Task\nGo on.", "m"), ("<think>Well.</think>", None)):
        compacted = await compactor(Writer(text)).compact(history, "person")
        assert compacted is not None
        assert compacted.message is not None
        assert ("Well" in compacted.message.text, compacted.by) == (False, by)


async def test_what_the_model_wants_in_view_has_not_the_persons_authority() -> None:
    write = Writer("## Task\nGo on.")
    made, history = compactor(write), [user_message("word " * 400) for _ in range(20)]
    made.want("a" * 600)
    await made.compact(history, "model")
    await made.compact(history, "person", "b")
    assert [system.rpartition("\n\n")[2] for system in write.systems] == [
        f"Marvin asks to keep this in view above all: {'a' * 500}",
        "The person asks to keep this in view above all: b",
    ]
