"""docs/protocol.md tables every method, object and error, and its transcript is true to the schema."""

import json
import re
from typing import Any

import pytest

from marvin_server.protocol.errors import Code
from marvin_server.protocol.methods import METHODS
from tests.protocol.published_schema import DOCS, SCHEMA, problems

PAGE = (DOCS / "protocol.md").read_text(encoding="utf-8")
MARKS = {("toServer", "request"): "→", ("toClient", "request"): "←", ("toClient", "notification"): "←N"}
NOTHING: dict[str, Any] = {"properties": {}, "required": []}
TRANSCRIPT = [
    (line[0], json.loads(line[2:]))
    for line in PAGE.partition("## A worked transcript")[2].splitlines()
    if line.startswith(("→ {", "← {"))
]


def name_of(ref: dict[str, str]) -> str:
    return ref["$ref"].rpartition("/")[2]


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of all tables with this heading, by the first one."""
    found: dict[str, list[str]] = {}
    for table in PAGE.split(heading)[1:]:
        for line in table.partition("\n\n")[0].splitlines()[2:]:
            name, *cells = (cell.strip() for cell in line[1:-1].split("|"))
            found[name.strip("`")] = cells
    return found


def told(cell: str) -> dict[str, str]:
    """The fields in a cell, with their marks, and what stands in parentheses after each."""
    return dict(re.findall(r"`(\w+\??)`(?: \(([^)]*)\))?", re.sub(r"\(([^)]*)\)", unquoted, cell)))


def unquoted(parentheses: re.Match[str]) -> str:
    return parentheses[0].replace("`", "")


def marked(shape: dict[str, Any]) -> set[str]:
    return {f"{name}{'' if name in shape['required'] else '?'}" for name in shape["properties"]}


def words(shape: dict[str, Any]) -> list[str]:
    return [word for option in (shape, *shape.get("anyOf", ())) for word in option.get("enum", ())]


def unsaid(cell: str, shape: dict[str, Any]) -> list[str]:
    """The words that a field may be and that its parentheses do not have."""
    return [
        f"{name}: {word}"
        for name, more in told(cell).items()
        for word in words(shape["properties"][name.rstrip("?")])
        if not re.search(rf"\b{word}\b", more)
    ]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_tabled_with_all_that_goes_in_and_comes_out(name: str) -> None:
    mark, params, result = rows("| method | | params | result |")[name]
    method = SCHEMA["methods"][name]
    assert mark == MARKS[method["direction"], method["kind"]]
    for cell, ref in ((params, method["params"]), (result, method.get("result"))):
        shape = SCHEMA["$defs"][name_of(ref)] if ref else NOTHING
        assert told(cell).keys() == marked(shape)
        assert unsaid(cell, shape) == []


def test_no_other_method_is_tabled() -> None:
    assert rows("| method | | params | result |").keys() == METHODS.keys()


def objects() -> dict[str, dict[str, Any]]:
    """The types that are no params and no results, and that events do not have."""
    elsewhere = {name_of(ref) for method in SCHEMA["methods"].values() for ref in method.values() if "$ref" in ref}
    waiting = [name_of(ref) for ref in SCHEMA["events"].values()]
    while waiting:
        name = waiting.pop()
        if name not in elsewhere:
            elsewhere.add(name)
            waiting += re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMA["$defs"][name]))
    return {name: shape for name, shape in SCHEMA["$defs"].items() if name not in elsewhere}


def test_every_object_is_tabled_with_its_fields() -> None:
    tabled = {name: cells for name, cells in rows("| object | fields |").items() if name[0].isupper()}
    assert {name: told(cells[0]).keys() for name, cells in tabled.items()} == {
        name: marked(shape) for name, shape in objects().items()
    }
    assert [word for name, cells in tabled.items() for word in unsaid(cells[0], SCHEMA["$defs"][name])] == []


def test_every_error_is_tabled() -> None:
    tabled = {int(code): cells[0].strip("`") for code, cells in rows("| code | kind | when |").items()}
    assert tabled == {int(code): code.kind for code in Code}


def shapes(arrow: str, message: dict[str, Any], asked: dict[Any, str]) -> list[tuple[Any, dict[str, Any]]]:
    """The parts of a message of the transcript that the schema knows, each with its type."""
    if "method" in message:
        asked[message.get("id")] = message["method"]
        if message["method"] == "initialize":
            return [(message["params"]["capabilities"]["experimental"]["marvin"], SCHEMA["initialize"]["client"])]
        method = SCHEMA["methods"].get(message["method"])
        assert method is None or (arrow == "→") == (method["direction"] == "toServer")
        return [(message["params"], method["params"])] if method else []
    if "error" in message:
        assert message["error"]["code"] == SCHEMA["errors"][message["error"]["data"]["kind"]]
        return [(message["error"]["data"], SCHEMA["errorData"])]
    method = asked[message["id"]]
    if method == "initialize":
        return [(message["result"]["capabilities"]["experimental"]["marvin"], SCHEMA["initialize"]["server"])]
    return [(message["result"], SCHEMA["methods"][method]["result"])] if method in SCHEMA["methods"] else []


def test_the_transcript_is_as_the_schema_says_but_for_its_mistake() -> None:
    asked: dict[Any, str] = {}
    found = [
        problem
        for arrow, message in TRANSCRIPT
        for part in shapes(arrow, message, asked)
        for problem in problems(*part)
    ]
    assert found == ["$.input: 'Thanks!' is not of type 'array'"]


def test_the_transcript_leaves_no_notification_out() -> None:
    told_events = [message["params"] for _, message in TRANSCRIPT if message.get("method") == "marvin/turn/events"]
    assert [batch["seq"] for batch in told_events] == list(range(1, len(told_events) + 1))
    finished = [event["type"] for batch in told_events for event in batch["events"]]
    assert finished.count("turn.finished") == 1
