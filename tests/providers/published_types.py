"""Request bodies, held against the types that the vendors publish in their own Python packages."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def check_anthropic(body: Any) -> None:
    """Fail unless ``body`` is exactly what Anthropic's messages API takes."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    _check(body, MessageCreateParamsStreaming)


def check_openai_chat(body: Any) -> None:
    """Fail unless ``body`` is exactly what OpenAI's chat completions API takes."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    _check(body, CompletionCreateParamsStreaming)


def check_openai_responses(body: Any) -> None:
    """Fail unless ``body`` is exactly what OpenAI's responses API takes."""
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    _check(body, ResponseCreateParamsStreaming)


def check_ollama(body: Any) -> None:
    """Fail unless ``body`` is what Ollama's chat API takes.

    The package lacks ``truncate`` and ``shift`` (Ollama's api/types.go has them), and much of JSON Schema.
    """
    from ollama import Message, Options
    from ollama._types import ChatRequest

    sent = deepcopy({name: value for name, value in body.items() if name not in ("truncate", "shift")})
    for tool in sent.get("tools", ()):
        tool["function"]["parameters"] = {"type": tool["function"]["parameters"]["type"]}
    given = deepcopy(sent)
    for message in given["messages"]:
        if "images" in message:
            message["images"] = [{"value": image} for image in message["images"]]
    given["messages"] = [Message.model_validate(message) for message in given["messages"]]
    if "options" in given:
        given["options"] = Options.model_validate(given["options"])
    assert ChatRequest.model_validate(given).model_dump(exclude_unset=True) == sent


def _check(body: Any, published: Any) -> None:
    # A field that is not published gets lost in validation.
    assert _unrolled(_adapter(published).validate_python(body)) == body


@cache
def _adapter(published: Any) -> "TypeAdapter[Any]":
    """Slow to make, and it must outlive the iterators that it makes."""
    from pydantic import TypeAdapter

    return TypeAdapter(published)


def _unrolled(value: object) -> object:
    """The value with its iterables read to their ends, since these are validated no sooner."""
    if isinstance(value, Mapping):
        return {name: _unrolled(inner) for name, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_unrolled(inner) for inner in cast("Iterable[object]", value)]
    return value
