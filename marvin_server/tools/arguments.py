"""What a model wrote as a tool call's arguments, read into values, or explained so that the next try is right."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolEntry

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_PLAIN_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_PLACEHOLDERS: Mapping[str, Any] = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}


def parse(entry: ToolEntry, text: str) -> dict[str, Any]:
    """The arguments for ``entry`` in ``text``: a JSON object, a JSON string that holds one, or nothing (no arguments).

    A null for an optional field is left out, and a whole number becomes text where text is wanted; nothing else is
    repaired. Raises ``ToolError``, which shows a correct call, for text that is not whole and for missing and unknown
    fields. Types are not checked here.
    """
    values = _object(entry, text)
    fields: Mapping[str, Any] = entry.parameters.get("properties", {})
    required: list[str] = entry.parameters.get("required", [])
    values = {
        name: str(value) if type(value) is int and fields.get(name, {}).get("type") == "string" else value
        for name, value in values.items()
        if value is not None or name not in fields or name in required
    }
    problems = [
        f"Missing required field {name!r} ({describe(fields[name])})." for name in required if name not in values
    ]
    if not entry.parameters.get("additionalProperties"):
        problems += [_unknown(name, fields) for name in values if name not in fields]
    problems += [
        f"Field {name!r} holds half a character ({half[0]!a}); send the whole character."
        for name, value in values.items()
        if isinstance(value, str) and (half := _HALF_CHARACTER.search(value))
    ]
    problems += [
        f"Field {name!r} must be {describe(fields[name])}, not {json.dumps(value)}."
        for name, value in values.items()
        if isinstance(value, bool) and fields.get(name, {}).get("type") in {"integer", "number"}
    ]
    if problems:
        raise _wrong(entry, problems)
    return values


def explain(entry: ToolEntry, errors: "Iterable[ErrorDetails]") -> ToolError:
    """The error for values that pydantic refused: each field with the type that it needs, and a correct call."""
    fields: Mapping[str, Any] = entry.parameters.get("properties", {})
    problems: list[str] = []
    for error in errors:
        where = ".".join(map(str, error["loc"])) or "arguments"
        if len(error["loc"]) == 1 and where in fields and error["type"] not in {"value_error", "assertion_error"}:
            shown = _cut(json.dumps(error["input"], ensure_ascii=False, default=str))
            problems.append(f"Field {where!r} must be {describe(fields[where])}, not {shown}.")
        else:
            problems.append(f"Field {where!r}: {error['msg']}.")
    return _wrong(entry, problems)


def describe(field: Mapping[str, Any]) -> str:
    """A field's JSON Schema in plain words, such as ``a whole number from 1 to 600``."""
    if options := field.get("enum"):
        return "one of " + ", ".join(json.dumps(option, ensure_ascii=False) for option in options)
    words = _PLAIN_TYPES.get(field.get("type", ""), "a value")
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if low is not None:
        return f"{words} of at least {low}"
    return f"{words} of at most {high}" if high is not None else words


def example(entry: ToolEntry) -> str:
    """A correct call: the required fields and those whose schema has an example of its own."""
    fields: Mapping[str, Any] = entry.parameters.get("properties", {})
    required: list[str] = entry.parameters.get("required", [])
    values = {
        name: (field.get("examples") or field.get("enum") or [_PLACEHOLDERS.get(field.get("type", ""), "…")])[0]
        for name, field in fields.items()
        if name in required or "examples" in field
    }
    return f"{entry.name}({json.dumps(values, ensure_ascii=False)})"


def _object(entry: ToolEntry, text: str) -> dict[str, Any]:
    """The JSON object in ``text``; a JSON string is opened once, since models encode twice by mistake.

    A bare ``*** Begin Patch`` is the argument ``patch`` of a tool that has one.
    """
    if not text.strip():
        return {}
    try:
        # Raw newlines within a string are not JSON, but what they mean is beyond doubt.
        value: object = json.loads(text, strict=False)
        if isinstance(value, str):
            text = value
            value = json.loads(value, strict=False) if value.strip() else {}
    except (ValueError, RecursionError):
        if _is_bare_patch(entry, text):
            return {"patch": text}
        raise _unreadable(entry, text) from None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise _wrong(entry, [f"The arguments must be a JSON object, not {_cut(text)}."])


def _unreadable(entry: ToolEntry, text: str) -> ToolError:
    if _is_cut_off(text):
        problem = f"The arguments were cut off after {len(text)} characters, so nothing was done. Send less at once"
        if entry.name in {"create_file", "append_file"}:
            problem += ": a long file as a first part with create_file and the rest in pieces with append_file"
        problem += "."
    else:
        problem = f"The arguments are not valid JSON: {_cut(text)}"
    return _wrong(entry, [problem])


def _is_bare_patch(entry: ToolEntry, text: str) -> bool:
    """Whether ``text`` is a patch itself; one within JSON that is broken is not, as it may have been cut off."""
    is_json = text.lstrip().startswith(("{", "[", '"'))
    return "patch" in entry.parameters.get("properties", {}) and "*** Begin Patch" in text and not is_json


def _is_cut_off(text: str) -> bool:
    """Whether ``text`` begins like a JSON object and stops within a string or before its brackets close."""
    if not text.lstrip().startswith(("{", '"')):
        return False
    rest = _STRING.sub("", text)
    return '"' in rest or sum(map(rest.count, "{[")) > sum(map(rest.count, "}]"))


def _unknown(name: str, fields: Mapping[str, Any]) -> str:
    import difflib

    near = difflib.get_close_matches(name, fields, n=1) or [field for field in fields if field in name]
    return f"Unknown field {_cut(name)!r}" + (f"; did you mean {near[0]!r}?" if near else ".")


def _wrong(entry: ToolEntry, problems: Iterable[str]) -> ToolError:
    fields: Mapping[str, Any] = entry.parameters.get("properties", {})
    required: list[str] = entry.parameters.get("required", [])
    known = ", ".join(
        f"{name} ({describe(field)}{'' if name in required else ', optional'})" for name, field in fields.items()
    )
    text = (
        f"Wrong arguments for {entry.name}. {' '.join(problems)}\nFields: {known or 'none'}.\n"
        f"A correct call: {example(entry)}"
    )
    return ToolError(_HALF_CHARACTER.sub("\ufffd", text))


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "…"
