"""Reads what a client has sent, and says in the dialect's words what is wrong with it."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from marvin_server.errors import UsageError
from marvin_server.protocol.base import FromClient

_PROBLEM = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_KIND = re.compile(r"`([a-z]+(?: \| [a-z]+)*)`")
Received = TypeVar("Received", bound=FromClient)


def read(params: Mapping[str, Any], kind: type[Received]) -> Received:
    """``params``, or a client's result, as ``kind``; null for a whole field counts as left out.

    Raises ``UsageError``, for an answer with -32602: it names the field, what is wrong, and all fields that there are.
    """
    given = {name: value for name, value in params.items() if value is not None}
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise UsageError(_explained(str(error), kind)) from None


def _explained(text: str, kind: type[FromClient]) -> str:
    match = _PROBLEM.fullmatch(text)
    problem, place = (match[1], match[2] or "") if match else (text, "")
    if problem.startswith("Object missing required field"):
        place = ".".join(filter(None, (place, problem.rpartition(" ")[2].strip("`"))))
        problem = "it is missing"
    elif problem.startswith("Invalid") and (words := _words(kind, place)):
        problem = f"it must be one of {', '.join(words)}"
    else:
        problem = _KIND.sub(lambda kinds: _in_words(kinds[1]), problem[:1].lower() + problem[1:])
    fields = (f"{field.encode_name}{'' if field.required else '?'}" for field in msgspec.structs.fields(kind))
    return f"{place or 'params'}: {problem}. Send {{{', '.join(fields)}}}, as docs/protocol.md has it."


def _in_words(kinds: str) -> str:
    """JSON types, as msgspec names them."""
    return " or ".join(_KINDS.get(name, name) for name in kinds.split(" | ") if kinds == "null" or name != "null")


def _words(kind: type[FromClient], place: str) -> list[str]:
    """The words that may stand at ``place``, such as ``mode`` or ``input[0].type``; none where anything may."""
    found = [inspect.type_info(kind)]
    for step in re.findall(r"[A-Za-z_]\w*|\[", place):
        if step == "[":
            found = [each.item_type for each in found if isinstance(each, inspect.ListType | inspect.VarTupleType)]
        else:
            structs = [each for each in found if isinstance(each, inspect.StructType)]
            found = [field.type for each in structs for field in each.fields if field.encode_name == step]
            found += [inspect.LiteralType((each.tag,)) for each in structs if each.tag and each.tag_field == step]
        found = [option for each in found for option in _options(each)]
    return [str(value) for each in found if isinstance(each, inspect.LiteralType) for value in each.values]


def _options(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)
