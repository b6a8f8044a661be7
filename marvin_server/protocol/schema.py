"""``python -m marvin_server.protocol.schema`` writes docs/protocol.schema.json, which has every type of the dialect.

It also copies the tables of docs/events.md into docs/protocol.md. With ``--check`` it writes nothing and ends with 1
when a file is not what it would write.
"""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from marvin_server.events import Event
from marvin_server.protocol import greeting
from marvin_server.protocol.base import FromClient
from marvin_server.protocol.errors import Code, ErrorData
from marvin_server.protocol.methods import METHODS, Method
from marvin_server.protocol.wire import PRIVATE, WORDS, camel

DOCS = Path(__file__).parents[2] / "docs"
_COMMAND = "python -m marvin_server.protocol.schema"
_COPIED = re.compile(rf"(?<=<!-- copied from events.md by {_COMMAND} -->\n).*?(?=<!-- end of the copy -->)", re.DOTALL)
_NULL = {"type": "null"}
Schema = dict[str, Any]


def schema() -> Schema:
    """All types as JSON Schema 2020-12: ``$defs`` has them, the other members say which is used where.

    What the server sends has its optional fields only when there is something to say; null stands nowhere.
    """
    roots: list[type[Struct]] = [greeting.ClientMarvin, greeting.ServerMarvin, ErrorData, *get_args(Event)]
    roots += [each for method in METHODS.values() for each in (method.params, method.result) if each]
    _, found = msgspec.json.schema_components(roots, ref_template="#/$defs/{name}")
    classes = {cls.__name__: cls for cls in _reached(roots)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Marvin's protocol, version {greeting.VERSION}",
        "initialize": {"client": _ref(greeting.ClientMarvin), "server": _ref(greeting.ServerMarvin)},
        "methods": {name: _method(method) for name, method in METHODS.items()},
        "events": {str(cls.__struct_config__.tag): _ref(cls) for cls in get_args(Event)},
        "errors": {code.kind: code.value for code in Code},
        "errorData": _ref(ErrorData),
        "$defs": {name: _definition(classes[name], found[name]) for name in sorted(found)},
    }


def page(text: str) -> str:
    """docs/protocol.md with the tables of docs/events.md as they are now."""
    events = (DOCS / "events.md").read_text(encoding="utf-8")
    tables = events[events.index("| event |") : events.index("\n\nWith `--output-schema`")]
    return _COPIED.sub(lambda _: f"\n{tables}\n\n", text, count=1)


def _method(method: Method) -> Schema:
    told: Schema = {"direction": method.direction, "kind": method.kind, "params": _ref(method.params)}
    return {**told, "result": _ref(method.result)} if method.result else told


def _ref(cls: type[Struct]) -> Schema:
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _definition(cls: type[Struct], found: Schema) -> Schema:
    """What msgspec says of ``cls``, as ``wire.to_wire`` makes it and ``reading.read`` takes it."""
    by_name = {field.encode_name: field for field in fields(cls)}
    names = [name for name in found["properties"] if name not in PRIVATE]
    properties = {
        camel(name): _spelled(found["properties"][name], is_word=name not in by_name or name in WORDS) for name in names
    }
    if not issubclass(cls, FromClient):
        for shape in properties.values():
            shape.pop("default", None)
    required = [camel(name) for name in names if name not in by_name or _is_required(cls, by_name[name])]
    told: Schema = {"type": "object", "properties": properties, "required": required}
    return {"description": _described(cls.__doc__), **told} if cls.__doc__ else told


def _is_required(cls: type[Struct], field: FieldInfo) -> bool:
    return field.required if issubclass(cls, FromClient) else NoneType not in get_args(field.type)


def _described(docstring: str) -> str:
    return re.sub(r"``([\w.]+)``", lambda name: f"`{camel(name[1])}`", " ".join(inspect.cleandoc(docstring).split()))


def _spelled(shape: Schema, *, is_word: bool) -> Schema:
    """``shape`` with the dialect's words, and without null."""
    told = dict(shape)
    options = [_spelled(option, is_word=is_word) for option in told.pop("anyOf", []) if option != _NULL]
    if len(options) == 1:
        told |= options[0]
    elif options:
        told["anyOf"] = options
    if is_word and "enum" in told:
        told["enum"] = [camel(word) for word in told["enum"]]
    if "items" in told:
        told["items"] = _spelled(told["items"], is_word=is_word)
    if "discriminator" in told:
        tags = told["discriminator"]["mapping"].items()
        told["discriminator"] = {**told["discriminator"], "mapping": {camel(tag): ref for tag, ref in tags}}
    if told.get("default", told) is None:
        del told["default"]
    return told


def _reached(roots: Sequence[type[Struct]]) -> list[type[Struct]]:
    """Every class that is a root, or a part of one."""
    classes: list[type[Struct]] = []
    waiting: list[Any] = list(roots)
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, Struct) and each not in classes:
            classes.append(each)
            waiting += [field.type for field in fields(each)]
        else:
            waiting += get_args(each)
    return classes


def main(words: Sequence[str]) -> int:
    """Write the files, or check them; give the exit code."""
    parser = argparse.ArgumentParser(prog=_COMMAND, description="Write docs/protocol.schema.json and docs/protocol.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when a file is stale")
    check = parser.parse_args(words).check
    export, reference = DOCS / "protocol.schema.json", DOCS / "protocol.md"
    texts = {
        export: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
        reference: page(reference.read_text(encoding="utf-8")),
    }
    stale = [file for file, text in texts.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    for file in stale:
        if check:
            print(f"{file} is stale: run {_COMMAND}", file=sys.stderr)
        else:
            file.write_text(texts[file], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
