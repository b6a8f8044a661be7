"""How the tool calls of a conversation go back to a vendor, whoever made them: ids, names and arguments it accepts."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from marvin_server.messages import Message

_LONGEST = 64


def call_ids(history: Sequence[Message]) -> Mapping[str, str]:
    """For each id of a call in ``history`` one of at most 64 letters, digits, ``_`` and ``-``; all are different."""
    ids: dict[str, str] = {}
    used: set[str] = set()
    for message in history:
        for call in message.tool_calls:
            if call.id not in ids:
                ids[call.id] = _unused(tool_name(call.id), used)
                used.add(ids[call.id])
    return ids


def tool_name(name: str) -> str:
    """The name with at most 64 letters, digits, ``_`` and ``-``; never empty."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST] or "unknown"


def arguments(text: str) -> str:
    """Arguments as the JSON text of an object: the model's own, in an object of one field if it is none."""
    value = arguments_object(text)
    return json.dumps(value, ensure_ascii=False) if "not_an_object" in value else text


def arguments_object(text: str) -> dict[str, Any]:
    """Arguments as an object: the model's own, else one whose field ``not_an_object`` holds the text."""
    try:
        value: object = json.loads(text, parse_constant=_refuse)
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    except (ValueError, RecursionError):
        pass
    return {"not_an_object": text}


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _unused(wanted: str, used: set[str]) -> str:
    name, number = wanted, 1
    while name in used:
        number += 1
        name = f"{wanted[: _LONGEST - 8]}_{number}"
    return name
