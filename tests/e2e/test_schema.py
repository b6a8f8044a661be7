"""``--output-schema``: only an answer that matches is printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.oneshot import COST_FREE
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("answers", "code", "printed", "requests"),
    [
        (['{"n": 1}'], 0, '{"n": 1}\n', 1),
        (['```json\n{"n": 1}\n```'], 0, '{"n": 1}\n', 1),
        (["it is 1", '{"n": 1}'], 0, '{"n": 1}\n', 2),
        (["it is 1", '{"n": "1"}'], 1, "", 2),
    ],
)
def test_with_a_schema_only_a_valid_answer_is_printed(
    ask: Any,
    model_server: ThreadedModelServer,
    tmp_path: Path,
    answers: list[str],
    code: int,
    printed: str,
    requests: int,
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    model_server.play([says(answer) for answer in answers])
    done = ask("--output-schema", schema)
    assert (done.exit_code, done.stdout, len(model_server.requests)) == (code, printed, requests)
    if code:
        assert "$.n" in done.stderr
    if requests == 2:
        assert "not JSON" in model_server.requests[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("schema", ["{", '{"type": "nothing"}', "[]"])
def test_a_wrong_schema_is_refused_at_once(ask: Any, tmp_path: Path, schema: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(schema)
    done = ask("--output-schema", path)
    assert (done.exit_code, done.stdout, done.cost) == (2, "", COST_FREE)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/x.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/nope"},
        {"properties": {"a": {"$ref": "other.json"}}},
    ],
)
def test_a_schema_that_leads_out_of_its_file_is_refused_before_anything_is_asked(
    ask: Any, model_server: ThreadedModelServer, tmp_path: Path, schema: dict[str, Any]
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    done = ask("--output-schema", path)
    assert (done.exit_code, done.stdout, len(model_server.requests)) == (2, "", 0)
    assert "$ref" in done.stderr


@pytest.mark.parametrize("answer", ["NaN", "[" * 100_000 + "]" * 100_000])
def test_an_answer_that_cannot_be_checked_is_never_printed(
    ask: Any, model_server: ThreadedModelServer, tmp_path: Path, answer: str
) -> None:
    path = tmp_path / "schema.json"
    path.write_text("{}")
    model_server.play([says(answer)])
    for form in ("text", "final"):
        done = ask("--output-schema", path, "--output", form)
        assert (done.exit_code, done.stdout) == (1, "")
    for form in ("json", "stream-json"):
        (line,) = ask("--output-schema", path, "--output", form).stdout.splitlines()
        report = json.loads(line)
        assert (report.get("answer", ""), report["error"]["kind"]) == ("", "SchemaMismatch")


def test_a_turn_whose_answer_was_sent_back_is_not_printed(
    ask: Any, model_server: ThreadedModelServer, tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    model_server.play([says("it is 1"), says('{"n": 1}')])
    events = [
        json.loads(line) for line in ask("--output-schema", schema, "--output", "stream-json").stdout.splitlines()
    ]
    assert [event["type"] for event in events].count("turn.finished") == 1
    assert events[-1]["type"] == "turn.finished"
    assert "it is 1" not in json.dumps(events)
