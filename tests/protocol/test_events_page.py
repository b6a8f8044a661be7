"""docs/events.md names every event with every field, and nothing else."""

import re
from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct

from marvin_server import events, messages
from marvin_server.protocol.wire import camel, to_wire

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text()


def type_of(cls: type[Struct]) -> str:
    return str(cls.__struct_config__.tag)


OBJECTS: dict[str, type[Struct]] = {
    "message": messages.Message,
    "usage": messages.Usage,
    "permission": events.Permission,
    "command": events.Command,
    "script": events.Script,
    "patch": events.Patch,
    "edit": events.Edit,
    "hunk": events.Hunk,
    "rejection": events.Rejection,
    "error": events.Failure,
    **{f"part `{camel(type_of(cls))}`": cls for cls in get_args(messages.Part)},
}
EVENTS: dict[str, type[Struct]] = {f"`{type_of(cls)}`": cls for cls in get_args(events.Event)}


def rows(heading: str) -> dict[str, set[str]]:
    table = PAGE.partition(f"| {heading} | fields |")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ", 1) for line in table.splitlines()[2:]]
    return {name: {word.rstrip("?") for word in re.findall(r"`([^`]+)`", text)} for name, text in cells}


def wire_fields(cls: type[Struct]) -> set[str]:
    return {camel(name) for name in cls.__struct_fields__ if name != "vendor"}


@pytest.mark.parametrize(("heading", "classes"), [("event", EVENTS), ("object", OBJECTS)])
def test_the_page_tables_every_field(heading: str, classes: dict[str, type[Struct]]) -> None:
    assert rows(heading) == {name: wire_fields(cls) for name, cls in classes.items()}


def test_an_event_on_the_wire_is_camel_case_without_empty_fields() -> None:
    message = messages.Message(
        "assistant", (messages.ToolCall("c1", "tree", "{}"),), id="m1", finish="tool_calls", vendor={"secret": 1}
    )
    assert to_wire(events.MessageFinished(message)) == {
        "type": "message.finished",
        "message": {
            "role": "assistant",
            "parts": [{"type": "toolCall", "id": "c1", "name": "tree", "arguments": "{}"}],
            "id": "m1",
            "finish": "toolCalls",
        },
    }


def test_tool_input_passes_through_as_it_is() -> None:
    started = events.ToolStarted("c1", "read_file", "read a", "read", {"start_line": 1}, ("a",))
    assert to_wire(started) == {
        "type": "tool.started",
        "toolCallId": "c1",
        "name": "read_file",
        "title": "read a",
        "kind": "read",
        "input": {"start_line": 1},
        "locations": ["a"],
    }
