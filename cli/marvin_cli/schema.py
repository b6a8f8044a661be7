"""``--output-schema``: reads a JSON Schema and checks an answer against it. Nothing is ever fetched for that."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from marvin_server.errors import UsageError

_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def read(name: str) -> Mapping[str, Any]:
    """The JSON Schema in the file ``name``. Raises ``UsageError``, also for a ``$ref`` that leads out of it."""
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        value = json.loads(Path(name).read_bytes())
        if not isinstance(value, dict):
            raise UsageError(f"--output-schema {name}: a JSON Schema is an object")
        schema = cast("dict[str, Any]", value)
        validator_for(schema).check_schema(schema)
        resolver = Registry[Any]().with_resource("", DRAFT202012.create_resource(schema)).resolver()
        for reference in _references(schema):
            resolver.lookup(reference)
    except OSError as error:
        raise UsageError(f"--output-schema {name}: {error.strerror}") from None
    except SchemaError as error:
        raise UsageError(f"--output-schema {name}: not a JSON Schema ({error.message})") from None
    except Unresolvable as error:
        raise UsageError(f"--output-schema {name}: $ref {error.ref!r} is not in this file") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--output-schema {name}: not JSON ({error})") from None
    return schema


def check(answer: str, schema: Mapping[str, Any]) -> tuple[str, str | None]:
    """The JSON text of ``answer`` (a code fence around the whole is taken off), and what is wrong with it or None."""
    from jsonschema.validators import validator_for
    from referencing import Registry

    fenced = _FENCED.match(answer)
    text = (fenced[1] if fenced else answer).strip()
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return text, f"it is not JSON ({error})"
    try:
        problems = list(validator_for(schema)(schema, registry=Registry[Any]()).iter_errors(value))
    except RecursionError:
        return text, "it cannot be checked: the schema or the answer is nested without end"
    return text, "; ".join(f"{problem.json_path}: {problem.message}" for problem in problems[:5]) or None


def _references(schema: object) -> Iterator[str]:
    """Every ``$ref`` in a schema."""
    if isinstance(schema, dict):
        for key, value in cast("dict[str, object]", schema).items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in cast("list[object]", schema):
            yield from _references(item)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
