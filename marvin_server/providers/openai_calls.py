"""Tool calls put together from the deltas of an OpenAI-style stream, with every liberty that vendors take."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marvin_server.providers.draft import Draft
from marvin_server.providers.wire_json import fields


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra: Any = None

    def is_whole(self) -> bool:
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


class CallDeltas:
    """Collects calls. A delta may lack its index, its id or both, hold a whole call, or repeat what was said."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take one item of ``delta.tool_calls``."""
        function = fields(delta.get("function"))
        index, given_id, name = delta.get("index"), str(delta.get("id") or ""), str(function.get("name") or "")
        given = function.get("arguments")
        arguments = given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)
        index = index if isinstance(index, int) else None
        call = self._find(index, given_id)
        if call is None or _begins_another(call, index, given_id, name, arguments):
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or given_id
        if name != call.name and not call.arguments:
            call.name += name
        if arguments:
            call.arguments.append(arguments)
        call.extra = delta.get("extra_content") or call.extra

    def finish(self, draft: Draft) -> Mapping[str, Any]:
        """Add the calls to ``draft``; by id, what the vendor wants back with them."""
        extras: dict[str, Any] = {}
        for call in self._calls:
            call_id = draft.call(call.id, call.name, "".join(call.arguments))
            if call.extra:
                extras[call_id] = {"extra_content": call.extra}
        return extras

    def _find(self, index: int | None, given_id: str) -> _Call | None:
        """The latest call that a delta with this index and id may go on with."""
        for call in reversed(self._calls):
            same_index = index is None or call.index is None or index == call.index
            if same_index and (not given_id or not call.id or given_id == call.id):
                return call
        return None


def _begins_another(call: _Call, index: int | None, given_id: str, name: str, arguments: str) -> bool:
    """Whether a delta that could belong to ``call`` opens the next one, as vendors without index or id do it."""
    if not name or not call.name:
        return False
    repeats = name == call.name and given_id in ("", call.id)
    if call.is_whole():
        return bool(arguments) or not repeats
    return index is None and not (given_id and repeats)
