"""Which JSON Schemas Anthropic's structured output takes.

Rules: https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations.
"""

from marvin_server.providers.wire_json import fields

_KEYWORDS = frozenset(
    (
        *("$defs", "$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "default", "definitions"),
        *("description", "enum", "items", "properties", "required", "title", "type"),
    )
)


def is_supported(schema: object) -> bool:
    """Whether every part of the schema has only keywords that are taken, and every object is closed."""
    parts = fields(schema)
    if not isinstance(schema, dict):
        return False
    may_be_object = "object" in (parts.get("type") or ()) or "properties" in parts
    if not parts.keys() <= _KEYWORDS or (may_be_object and parts.get("additionalProperties") is not False):
        return False
    below = [inner for group in ("$defs", "definitions", "properties") for inner in fields(parts.get(group)).values()]
    below += [inner for group in ("allOf", "anyOf") for inner in parts.get(group) or ()]
    return all(map(is_supported, [*below, parts["items"]] if "items" in parts else below))
