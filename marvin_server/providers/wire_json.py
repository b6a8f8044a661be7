"""JSON as vendors send and take it: compact UTF-8 without unpaired surrogates, read without trust in its shape."""

import json
from typing import Any, cast


def dump(value: object) -> bytes:
    """The value as JSON. Unpaired surrogates, which UTF-8 cannot carry, become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return mend_surrogates(text).encode()


def load(text: str) -> object:
    """The value that ``text`` holds, its surrogates mended. Raises ``ValueError``."""
    try:
        value: object = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(mend_surrogates(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def mend_surrogates(text: str) -> str:
    """The text with pairs of surrogates made characters and unpaired ones U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fields(value: object) -> dict[str, Any]:
    """The value, if it is an object; else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """The items of a list, each an object; a bare text counts as ``{"text": …}``. Empty for what is no list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [{"text": item} if isinstance(item, str) else fields(item) for item in items]


def count(value: object) -> int:
    """The value, if it is a whole number; else 0."""
    return value if isinstance(value, int) else 0
