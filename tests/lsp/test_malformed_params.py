"""Every field of every method, with a value that it cannot have: the answer names the field, and the server goes on."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from marvin_server.protocol.methods import METHODS
from tests.lsp.editor import Editor, Refused

INVALID_PARAMS = -32602
WRONG: tuple[Any, ...] = (17, -1.5, True, "\x00 no such word", [], [[]], [7], {}, {"type": "nothing"})
Case = tuple[str, dict[str, Any], str]


def least(kind: inspect.Type) -> Any:
    """The smallest value of a type."""
    match kind:
        case inspect.StructType():
            fields = {field.encode_name: least(field.type) for field in kind.fields if field.required}
            return {kind.tag_field: kind.tag, **fields} if kind.tag_field else fields
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.UnionType():
            return least(kind.types[0])
        case inspect.ListType() | inspect.VarTupleType():
            return []
        case _:
            return "x" if isinstance(kind, inspect.StrType) else False if isinstance(kind, inspect.BoolType) else 0


def fits(value: Any, kind: type[Any]) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def spoilt(kind: inspect.StructType) -> Iterator[tuple[dict[str, Any], str]]:
    """Objects in which one field, at whatever depth, is missing or wrong, each with that field's name."""
    whole = least(kind)
    for field in kind.fields:
        name = field.encode_name
        if field.required:
            yield {key: value for key, value in whole.items() if key != name}, name
        for value in WRONG:
            candidate = {**whole, name: value}
            if not fits(candidate, kind.cls):
                yield candidate, name
        for value, place in spoilt_within(field.type):
            yield {**whole, name: value}, place


def spoilt_within(kind: inspect.Type) -> Iterator[tuple[Any, str]]:
    match kind:
        case inspect.StructType():
            yield from spoilt(kind)
        case inspect.UnionType():
            for option in kind.types:
                yield from spoilt_within(option)
        case inspect.ListType() | inspect.VarTupleType():
            for value, place in spoilt_within(kind.item_type):
                yield [value], place
        case _:
            return


def cases(features: Any) -> list[Case]:
    found: list[Case] = []
    for name, method in METHODS.items():
        if method.direction == "toServer" and name.removeprefix("marvin/") in features:
            kind = inspect.type_info(method.params)
            assert isinstance(kind, inspect.StructType)
            found += [(name, params, field) for params, field in spoilt(kind)]
    return found


async def test_a_wrong_value_anywhere_is_named_and_nothing_else_suffers(editor: Editor) -> None:
    features = editor.messages[0]["result"]["capabilities"]["experimental"]["marvin"]["features"]
    table = cases(features)
    assert len(table) >= 300
    sent = [(case, editor.ask(case[0], case[1])) for case in table]
    wrong: list[str] = []
    for (method, params, field), request_id in sent:
        try:
            result = await editor.answer(request_id, 30)
            wrong.append(f"{method} {params} was taken: {result}")
        except Refused as refused:
            if refused.code != INVALID_PARAMS or field not in str(refused):
                wrong.append(f"{method} {params}, where {field} is wrong: {refused}")
    assert wrong == []
    assert (await editor.request("marvin/status"))["busy"] is False
    assert not [one for one in editor.messages if "method" in one and one["method"] == "marvin/session/changed"]
