"""A round's question as the body of an Anthropic messages request.

Format: https://platform.claude.com/docs/en/api/messages/create.
"""

from collections.abc import Sequence
from typing import Any, Literal

from marvin_server.providers.anthropic_history import Turn, turns
from marvin_server.providers.anthropic_schema import is_supported
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.past_calls import tool_name
from marvin_server.providers.wire_json import dump

Thinking = Literal["adaptive", "budget"]
Item = dict[str, Any]

_CACHED: Item = {"cache_control": {"type": "ephemeral"}}
_BUDGETS = {"low": 4_000, "medium": 12_000, "high": 24_000}


def encode(
    request: ModelRequest,
    *,
    provider: str,
    model: str,
    max_output: int,
    thinking: Thinking | None,
    quirks: Sequence[str],
) -> tuple[bytes, str]:
    """The JSON body of ``request``, and the fingerprint of all that the answer will rest on.

    Signed thoughts that ``provider`` left in ``Message.vendor`` go back while all that came before them is the same,
    which is what their signatures vouch for. The quirk ``no_json_schema`` leaves out what the vendor refuses.
    """
    system, tools = _system(request), _tools(request)
    history, fingerprint = turns(request.history, provider=provider, before=[model, request.system, tools])
    body: Item = {"model": model, "max_tokens": max_output, "messages": history, "stream": True}
    if tools:
        body["tools"] = tools
    if system:
        body["system"] = system
    if tools and not request.tools:
        body["tool_choice"] = {"type": "none"}
    output: Item = {}
    if request.output_schema is not None and "no_json_schema" not in quirks and is_supported(request.output_schema):
        output["format"] = {"type": "json_schema", "schema": request.output_schema}
    if thinking == "adaptive" and request.effort is not None:
        # Some models always think; low effort is the least that each of them takes.
        output["effort"] = "low" if request.effort == "none" else request.effort
        if request.effort != "none":
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
    if thinking == "budget" and request.effort in _BUDGETS and not _goes_on_without_thoughts(history):
        budget = min(_BUDGETS[request.effort], max_output // 2)
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if output:
        body["output_config"] = output
    _mark_for_cache(history)
    return dump(body), fingerprint


def _system(request: ModelRequest) -> list[Item]:
    """The system prompt: what stays the same, up to a cache breakpoint that covers the tools too, and what changes."""
    end = len(request.system) if request.stable is None else request.stable
    stable, changing = request.system[:end], request.system[end:]
    blocks = [_text(stable) | _CACHED, _text(changing)]
    return [block for block in blocks if block["text"].strip()]


def _tools(request: ModelRequest) -> list[Item]:
    """The tools; when none may be called, the bare names of those that were, which the conversation must not lack."""
    if request.tools:
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
    names = dict.fromkeys(tool_name(call.name) for message in request.history for call in message.tool_calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _goes_on_without_thoughts(history: Sequence[Turn]) -> bool:
    """Whether the answer goes on from tool results whose calls came without thoughts, as another vendor's do. A model
    with a budget may not begin to think there."""
    if len(history) < 2 or history[-1]["content"][0]["type"] != "tool_result":
        return False
    return history[-2]["content"][0]["type"] not in ("thinking", "redacted_thinking")


def _mark_for_cache(history: Sequence[Turn]) -> None:
    """Put a cache breakpoint at the end, and one where the request before this ended: a breakpoint finds only what was
    cached within 20 blocks before it."""
    for turn in [turn for turn in history if turn["role"] == "user"][-2:]:
        turn["content"][-1] |= _CACHED


def _text(text: str) -> Item:
    return {"type": "text", "text": text}
