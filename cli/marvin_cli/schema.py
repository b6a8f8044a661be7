"""``--output-schema``: reads a JSON Schema and checks an answer against it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from marvin_server.errors import UsageError

_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)


def read(name: str) -> Mapping[str, Any]:
    """The JSON Schema in the file ``name``. Raises ``UsageError``."""
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        value = json.loads(Path(name).read_bytes())
        if not isinstance(value, dict):
            raise UsageError(f"--output-schema {name}: a JSON Schema is an object")
        schema = cast("Mapping[str, Any]", value)
        validator_for(schema).check_schema(dict(schema))
    except OSError as error:
        raise UsageError(f"--output-schema {name}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"--output-schema {name}: not JSON ({error})") from None
    except SchemaError as error:
        raise UsageError(f"--output-schema {name}: not a JSON Schema ({error.message})") from None
    return schema


def check(answer: str, schema: Mapping[str, Any]) -> tuple[str, str | None]:
    """The JSON text of ``answer`` (a code fence around the whole is taken off), and what is wrong with it or None."""
    from jsonschema.validators import validator_for

    fenced = _FENCED.match(answer)
    text = (fenced[1] if fenced else answer).strip()
    try:
        value = json.loads(text)
    except ValueError as error:
        return text, f"it is not JSON ({error})"
    problems = list(validator_for(schema)(schema).iter_errors(value))
    return text, "; ".join(f"{problem.json_path}: {problem.message}" for problem in problems[:5]) or None
