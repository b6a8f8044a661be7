"""Ollama's wire format, and its server, from the server's side.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tests.servers.http_server import Answer, HttpServer, Request, Step
from tests.servers.openai_wire import dumps
from tests.servers.reply import Call, Said, Thought, Wire

MODEL = "test-model"
_ERRORS = {
    400: "invalid request",
    401: "unauthorized",
    403: "forbidden",
    404: f"model '{MODEL}' not found",
    429: "too many concurrent requests",
    500: "an error was encountered while running the model: unexpected EOF",
    503: "server busy, please try again.  maximum pending requests exceeded",
}
OVERFLOW = (
    '{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context size (4096 tokens), try '
    'increasing it","type":"exceed_context_size_error","n_prompt_tokens":8889,"n_ctx":4096}}'
)


def line(value: object) -> bytes:
    """One object of a stream."""
    return f"{dumps(value)}\n".encode()


def piece(**message: object) -> bytes:
    """A line with a part of the message."""
    said = {"role": "assistant", "content": "", **message}
    return line({"model": MODEL, "created_at": "2026-01-01T00:00:00Z", "message": said, "done": False})


def end(reason: str = "stop", **more: object) -> bytes:
    """The last line of a stream; ``more`` are further fields, such as the counts of tokens."""
    last = {"role": "assistant", "content": ""}
    return line({"model": MODEL, "message": last, "done": True, "done_reason": reason, **more})


def call(name: str, arguments: object, **more: object) -> dict[str, Any]:
    """An item of ``tool_calls``."""
    return {**more, "function": {"name": name, "arguments": arguments}}


def error(status: int) -> bytes:
    """The body of a refusal."""
    return dumps({"error": _ERRORS.get(status, f"refused with {status}")}).encode()


def _events(said: Said, _body: Any) -> Sequence[bytes]:
    events: list[bytes] = []
    for part in said.parts:
        match part:
            case str():
                events.append(piece(content=part))
            case Thought():
                events.append(piece(thinking=part.text))
            case Call():
                events.append(piece(tool_calls=[call(part.name, _arguments(part))]))
    return [*events, end(said.finish or "stop", **_counts(said))]


def _whole(said: Said, _body: Any) -> bytes:
    calls = [call(part.name, _arguments(part)) for part in said.calls]
    message = {"role": "assistant", "content": said.text, "thinking": said.thoughts, "tool_calls": calls}
    return dumps({"model": MODEL, "message": message, "done": True, "done_reason": "stop", **_counts(said)}).encode()


def _arguments(part: Call) -> object:
    """Arguments as Ollama sends them: an object, where the model's text is one."""
    try:
        return json.loads(part.arguments or "{}")
    except ValueError:
        return part.arguments


def _counts(said: Said) -> Mapping[str, int]:
    return {"prompt_eval_count": said.tokens.input, "eval_count": said.tokens.output} if said.tokens else {}


def _streams(body: Any) -> bool:
    return bool(body.get("stream", True))


WIRE = Wire("/api/chat", "application/x-ndjson", _events, _whole, error, _streams)


class OllamaServer:
    """An Ollama server on 127.0.0.1 with one model, while the context lasts.

    Each chat request gets the next of ``answers``, over and over: the steps of a stream, or a whole ``Answer``.
    ``shown`` is what ``/api/show`` tells of the model; without it the server does not know that path.
    """

    def __init__(self, *answers: Sequence[Step] | Answer, shown: Mapping[str, Any] | None = None) -> None:
        self.http = HttpServer(self._respond)
        self._answers = answers
        self._shown = shown

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.http.__aexit__(*exc_info)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.http.port}"

    @property
    def chats(self) -> Sequence[Request]:
        """Every chat request so far."""
        return [request for request in self.http.requests if request.path.endswith("/api/chat")]

    def _respond(self, request: Request) -> Answer:
        match request.method, request.path:
            case "GET", "/api/version":
                return whole(200, {"version": "0.12.6"})
            case "GET", "/api/tags":
                return whole(200, {"models": [{"name": MODEL}, {"name": "other:7b"}]})
            case "POST", "/api/show" if self._shown is not None:
                return whole(200, self._shown)
            case "POST", "/api/chat":
                chosen = self._answers[(len(self.chats) - 1) % len(self._answers)]
                if isinstance(chosen, Answer):
                    return chosen
                return Answer(200, (("Content-Type", WIRE.stream_type),), chosen)
            case _:
                return whole(404, "404 page not found")


def whole(status: int, value: object) -> Answer:
    """An answer that is one piece of JSON, or a text as it is."""
    body = value.encode() if isinstance(value, str) else dumps(value).encode()
    return Answer(status, (("Content-Type", "application/json"),), (body,), length=len(body))
