"""The exported schema, as a client's own checks use it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA: dict[str, Any] = json.loads((DOCS / "protocol.schema.json").read_text(encoding="utf-8"))


def problems(value: Any, shape: dict[str, Any]) -> list[str]:
    """What is wrong with ``value``, which should be as ``shape``, a part of the schema, says."""
    return [f"{error.json_path}: {error.message}" for error in _validator(json.dumps(shape)).iter_errors(value)]


@cache
def _validator(shape: str) -> Any:
    return Draft202012Validator({**json.loads(shape), "$defs": SCHEMA["$defs"]})
