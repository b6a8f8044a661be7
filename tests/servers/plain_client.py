"""A simple-minded model client of the standard library alone, to look at the model server with."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Said

BODY = json.dumps({"model": "test-model", "stream": True, "stream_options": {"include_usage": True}, "messages": []})
STREAM_REQUEST = b'POST /chat/completions HTTP/1.1\r\nContent-Length: 16\r\n\r\n{"stream": true}'


@dataclass(frozen=True)
class Got:
    """What a simple-minded client makes of one streamed reply. A call is (id, name, arguments)."""

    text: str = ""
    thoughts: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    finish: str | None = None


def post(server: ThreadedModelServer, body: str = BODY) -> tuple[http.client.HTTPResponse, bytes]:
    """Ask over a connection of its own; the response and its whole body as it came."""
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=SECONDS)
    try:
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def payloads(body: bytes) -> Iterator[str]:
    """The data of each server-sent event."""
    text = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    for block in text.split("\n\n"):
        lines = [line.partition(":")[2].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if any(lines):
            yield "\n".join(lines)


def understand(body: bytes) -> Got:
    """Put a streamed reply together again."""
    got = Got()
    by_index: dict[int, list[str]] = {}
    started: list[list[str]] = []
    for payload in payloads(body):
        choices: list[Any] = [] if payload == "[DONE]" else json.loads(payload).get("choices", [])
        for choice in choices:
            delta: dict[str, Any] = choice["delta"]
            thought = delta.get("reasoning") or delta.get("reasoning_content") or ""
            got = replace(got, text=got.text + (delta.get("content") or ""), thoughts=got.thoughts + thought)
            got = replace(got, finish=choice["finish_reason"] or got.finish)
            for part in delta.get("tool_calls", []):
                index, function = part.get("index", len(started)), part["function"]
                if "name" in function:
                    by_index[index] = [part.get("id", ""), function["name"], ""]
                    started.append(by_index[index])
                arguments = function["arguments"]
                by_index[index][2] += arguments if isinstance(arguments, str) else json.dumps(arguments)
    return replace(got, calls=tuple((id_, name, arguments) for id_, name, arguments in started))


def said(content: Said) -> Got:
    """What is understood when exactly ``content`` arrives."""
    wanted = tuple((call.id, call.name, call.arguments) for call in content.calls)
    return Got(content.text, content.thoughts, wanted, "tool_calls" if wanted else "stop")
