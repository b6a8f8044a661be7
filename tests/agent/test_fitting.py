"""Requests made to fit their model."""

import pytest
from msgspec import Struct
from msgspec.structs import replace

from marvin_server.agent.fitting import fitted
from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, ToolSpec, user_message
from marvin_server.providers.base import ModelRequest

PICTURE = Image("image/png", "iVBORw0=")
NOTE = "[a picture was here; small-1 takes none]"
READ = ToolSpec("read_file", "Read a file.", {"type": "object"})


class Able(Struct, frozen=True):
    context: int | None = None
    output: int | None = None
    tools: bool | None = None
    images: bool | None = None


ASKED = Message("assistant", (ToolCall("1", "read_file", "{}"), ToolCall("2", "read_file", "{}")))
READ_BOTH = Message(
    "tool",
    (ToolResult("1", "read_file", "[picture]", images=(PICTURE, PICTURE)), ToolResult("2", "read_file", "text")),
)
REQUEST = ModelRequest("Be brief.", (user_message("Same?", [PICTURE]), ASKED, READ_BOTH), (READ,))


@pytest.mark.parametrize("able", [Able(), Able(tools=True, images=True)], ids=["unknown", "able"])
def test_what_a_model_takes_or_may_take_is_sent_as_it_is(able: Able) -> None:
    assert fitted(REQUEST, able, "small-1") == REQUEST


def test_a_picture_becomes_a_note_where_the_model_takes_none() -> None:
    seen = fitted(REQUEST, Able(images=False), "small-1")
    question, asked, results = REQUEST.history
    unseen = ToolResult("1", "read_file", f"[picture]\n{NOTE}\n{NOTE}")
    assert seen == replace(
        REQUEST,
        history=(
            replace(question, parts=(Text(f"{NOTE}\n"), Text("Same?"))),
            asked,
            replace(results, parts=(unseen, ToolResult("2", "read_file", "text"))),
        ),
    )


def test_a_model_without_tools_is_given_none_and_told_so() -> None:
    seen = fitted(REQUEST, Able(tools=False), "small-1")
    assert (seen.tools, seen.history) == ((), REQUEST.history)
    assert seen.system.startswith("Be brief.\n\nNo tools are available")
    assert fitted(replace(REQUEST, tools=()), Able(tools=False), "small-1").system == "Be brief."
