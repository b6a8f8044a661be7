"""Whether a request is the one that was recorded; if not, where they differ first."""

import re
from typing import Any, cast

from marvin_server.providers.redaction import MASK
from marvin_server.providers.wire_json import fields, objects

_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id"})
# The last line of the system prompt: another day, another machine or another folder makes no other request.
_PLACE = re.compile(r"^System: \S+\. Date: [\d-]+\. Working directory: .*$", re.MULTILINE)
_BEFORE, _EXCERPT = 20, 60


def difference(recorded: object, asked: object, path: str = "") -> str | None:
    """The first path where two JSON values differ and what stands there, as one line; None when they are the same.

    Ids do not count, nor do date and place in the system prompt, nor what is redacted in the recorded one.
    """
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return _in_objects(cast("dict[str, Any]", recorded), cast("dict[str, Any]", asked), path)
    if isinstance(recorded, list) and isinstance(asked, list):
        return _in_lists(cast("list[object]", recorded), cast("list[object]", asked), path)
    if isinstance(recorded, str) and isinstance(asked, str):
        recorded, asked = _PLACE.sub("", recorded), _PLACE.sub("", asked)
        if recorded == asked or (MASK in recorded and _fits(recorded, asked)):
            return None
        pairs = enumerate(zip(recorded, asked, strict=False))
        start = max(0, next((at for at, (one, other) in pairs if one != other), 0) - _BEFORE)
        return f"{path or 'body'}: recorded {_shown(recorded[start:])}, asked {_shown(asked[start:])}"
    if recorded == asked:
        return None
    return f"{path or 'body'}: recorded {_shown(cast('object', recorded))}, asked {_shown(asked)}"


def gist(body: object) -> tuple[object, int, str]:
    """What makes two requests loosely the same: model, number of messages, and the last text of the person's."""
    request = fields(body)
    messages = objects(request.get("messages") or request.get("input"))
    texts = (_text(message.get("content")) for message in reversed(messages) if message.get("role") == "user")
    return request.get("model"), len(messages), next(filter(None, texts), "")


def _in_objects(recorded: dict[str, Any], asked: dict[str, Any], path: str) -> str | None:
    for name in dict.fromkeys((*recorded, *asked)):
        place = f"{path}.{name}" if path else name
        if name not in recorded or name not in asked:
            there, lacking = ("asked", "recorded") if name in asked else ("recorded", "asked")
            return f"{place}: only {there}, not {lacking}"
        is_id = name in _IDS and isinstance(recorded[name], str) and isinstance(asked[name], str)
        if not is_id and (found := difference(recorded[name], asked[name], place)):
            return found
    return None


def _in_lists(recorded: list[object], asked: list[object], path: str) -> str | None:
    for place, (one, other) in enumerate(zip(recorded, asked, strict=False)):
        if found := difference(one, other, f"{path}[{place}]"):
            return found
    if len(recorded) != len(asked):
        return f"{path or 'body'}: recorded {len(recorded)} items, asked {len(asked)}"
    return None


def _fits(recorded: str, asked: str) -> bool:
    """Whether ``asked`` is ``recorded`` with anything in the place of each mask."""
    first, *parts, last = recorded.split(MASK)
    at = len(first)
    for part in parts:
        found = asked.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return asked.startswith(first) and asked.endswith(last) and at + len(last) <= len(asked)


def _text(content: object) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text") or "") for part in objects(content))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
