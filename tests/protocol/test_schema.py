"""docs/protocol.schema.json is what the types are, and what is sent and taken."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Struct
from msgspec.structs import fields

from marvin_server import events, messages
from marvin_server.protocol import schema
from marvin_server.protocol.base import FromClient, FromServer
from marvin_server.protocol.errors import Code
from marvin_server.protocol.greeting import ClientMarvin, ServerMarvin
from marvin_server.protocol.methods import METHODS
from marvin_server.protocol.permissions import DECISIONS, WireDecision
from marvin_server.protocol.reading import read
from marvin_server.protocol.wire import to_wire
from tests.patience import SECONDS
from tests.protocol.published_schema import SCHEMA, problems

NAME = attrgetter("__name__")
ROOT = Path(__file__).parents[2]
SIDES: set[type[Struct]] = {each for method in METHODS.values() for each in (method.params, method.result) if each}
TAKEN: list[type[FromClient]] = [ClientMarvin, *(each for each in SIDES if issubclass(each, FromClient))]
SENT: list[type[Struct]] = [*get_args(events.Event), ServerMarvin, *SIDES - set(TAKEN)]
# JSON has no other values, and what a tool or a model says may be any of them.
ANYTHING = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=3,
)

SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    Any: ANYTHING,
    str: st.text(max_size=5),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    NoneType: st.none(),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a field may have, nested ones in tuples."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return st.builds(kind, **{field.name: values(field.type) for field in fields(kind)})
    origin: Any = get_origin(kind)
    parts: tuple[Any, ...] = get_args(kind)
    if origin is tuple:
        return st.lists(values(parts[0]), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(st.text(max_size=5), values(parts[1]), max_size=2)
    if origin is Literal:
        return st.sampled_from(parts)
    if parts:
        return st.one_of([values(part) for part in parts])
    return SIMPLE[kind]


@pytest.mark.parametrize("cls", sorted(SENT, key=NAME), ids=NAME)
@settings(max_examples=20, deadline=None)
@given(chosen=st.data())
def test_whatever_is_sent_is_as_the_schema_says(cls: type[Struct], chosen: st.DataObject) -> None:
    wire = json.loads(json.dumps(to_wire(chosen.draw(values(cls)))))
    assert problems(wire, {"$ref": f"#/$defs/{cls.__name__}"}) == []


@pytest.mark.parametrize("cls", sorted(TAKEN, key=NAME), ids=NAME)
@settings(max_examples=20, deadline=None)
@given(chosen=st.data())
def test_whatever_the_schema_takes_is_taken(cls: type[FromClient], chosen: st.DataObject) -> None:
    given_ = chosen.draw(values(cls))
    wire = json.loads(json.dumps(to_wire(given_)))
    assert problems(wire, {"$ref": f"#/$defs/{cls.__name__}"}) == []
    assert read({**wire, "_later": 1}, cls) == given_


def test_every_name_is_camel_case_and_null_stands_nowhere() -> None:
    names = [name for shape in SCHEMA["$defs"].values() for name in shape["properties"]]
    assert [name for name in names if not re.fullmatch(r"[a-z][a-zA-Z]*", name)] == []
    assert '"null"' not in json.dumps(SCHEMA)
    assert "vendor" not in names
    Draft202012Validator.check_schema(SCHEMA)


def test_words_are_spelled_as_they_are_sent() -> None:
    shapes = SCHEMA["$defs"]
    spelled = [
        shapes["TurnFinished"]["properties"]["stopReason"]["enum"],
        shapes["Permission"]["properties"]["options"]["items"]["enum"],
        shapes["ToolResult"]["properties"]["type"]["enum"],
        shapes["Message"]["properties"]["parts"]["items"]["discriminator"]["mapping"]["toolCall"],
    ]
    assert spelled == [
        ["budget", "cancelled", "completed", "denied", "failed", "roundLimit"],
        ["allowEdited", "allowOnce", "allowSession", "deny", "denyAndStop"],
        ["toolResult"],
        "#/$defs/ToolCall",
    ]


def test_an_optional_field_is_required_of_the_server_once_it_has_a_value() -> None:
    required = {name: SCHEMA["$defs"][name]["required"] for name in ("Permission", "TurnStartParams")}
    assert required == {
        "Permission": ["id", "kind", "title", "reason", "decidedBy", "options", "isWhole"],
        "TurnStartParams": ["sessionId", "input"],
    }


def test_the_schema_names_every_method_event_and_error() -> None:
    assert SCHEMA["methods"].keys() == METHODS.keys()
    assert SCHEMA["events"].keys() == {cls.__struct_config__.tag for cls in get_args(events.Event)}
    assert SCHEMA["errors"] == {code.kind: int(code) for code in Code}
    assert Code.SESSION_NOT_FOUND.kind == "sessionNotFound"


def test_what_a_client_may_decide_is_what_the_core_knows() -> None:
    assert (set(DECISIONS), set(DECISIONS.values())) == (set(get_args(WireDecision)), set(get_args(events.Decision)))


def test_only_one_side_sends_a_type() -> None:
    for method in METHODS.values():
        asks, answers = (FromClient, FromServer) if method.direction == "toServer" else (FromServer, FromClient)
        assert issubclass(method.params, asks)
        assert method.result is None or issubclass(method.result, answers)


def test_an_item_is_told_apart_by_its_kind() -> None:
    from marvin_server.protocol.items import MessageItem

    item = MessageItem(
        id="m1", created_at="2026-11-21T05:18:13Z", message=messages.Message("user", (messages.Text("Hi"),), id="m1")
    )
    assert to_wire(item) == {
        "kind": "message",
        "id": "m1",
        "createdAt": "2026-11-21T05:18:13Z",
        "message": {"role": "user", "parts": [{"type": "text", "text": "Hi"}], "id": "m1"},
    }


def test_the_files_in_docs_are_fresh() -> None:
    assert schema.main(["--check"]) == 0


def test_a_stale_file_fails_the_check_and_is_written_anew(tmp_path: Path) -> None:
    for folder in ("marvin_server", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs" / "protocol.schema.json").write_text("{}")
    page = tmp_path / "docs" / "protocol.md"
    page.write_text(
        page.read_text(encoding="utf-8").replace("| `round.started` |", "| `round.begun` |"), encoding="utf-8"
    )

    def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "marvin_server.protocol.schema", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
        return done.returncode, done.stderr

    code, said = run("--check")
    assert (code, said.count("is stale: run python -m marvin_server.protocol.schema")) == (1, 2)
    assert (run(), run("--check")) == ((0, ""), (0, ""))
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
