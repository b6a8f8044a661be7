"""The named scenarios that every wire format can play: ordinary replies, deliveries, and faults.

Unless its name says otherwise a scenario says ``GREETING``; one with a tool call asks for ``CALL``, then says ``DONE``.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from tests.servers import openai_oddities, openai_wire
from tests.servers.reply import CALL, DONE, GREETING, OTHER_CALL, THOUGHTFUL, Call, Delivery, Reply, Said, Scenario

STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529)
HTML = b"<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"


def says(*parts: str, **delivery: Any) -> Reply:
    """A reply of text deltas; ``delivery`` are fields of ``Delivery``."""
    return Reply(Said(parts), delivery=Delivery(**delivery))


def calls(*wanted: Call) -> Reply:
    """A reply that asks for tool calls."""
    return Reply(Said(wanted))


def runs(command: str) -> Reply:
    """A reply that asks to run a command."""
    return calls(Call("run_command", json.dumps({"command": command})))


def status(code: int, **headers: str) -> Reply:
    """A refusal with the vendor's own error body; a header's ``_`` stands for ``-``."""
    return Reply(None, status=code, headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def redirect(url: str) -> Reply:
    """A 307 that sends the client, body and all, to ``url``."""
    return Reply(b"", status=307, headers=(("Location", url),))


def cut_after(writes: int) -> Reply:
    """The greeting, broken off by a closed connection after so many of its events."""
    return Reply(GREETING, delivery=Delivery(cut_after=writes))


def stall_after(writes: int) -> Reply:
    """The greeting, and after so many of its events nothing more until the client leaves."""
    return Reply(GREETING, delivery=Delivery(stall_after=writes))


def deltas(count: int, **delivery: Any) -> Reply:
    """``count`` short deltas in the OpenAI format, encoded beforehand so that serving them costs next to nothing."""
    texts = (f"word{number} " for number in range(count))
    return Reply(openai_wire.stream(*({"content": text} for text in texts)), delivery=Delivery(**delivery))


def _retry_after_date(_body: Any, _number: int) -> Reply:
    return status(429, Retry_After=format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True))


def _delivered(**delivery: Any) -> Callable[[], Scenario]:
    return lambda: [Reply(GREETING, delivery=Delivery(**delivery))]


def _refused(code: int) -> Callable[[], Scenario]:
    return lambda: [status(code)]


_ORDINARY: Mapping[str, Callable[[], Scenario]] = {
    "text": lambda: [Reply(GREETING)],
    "thoughts": lambda: [Reply(THOUGHTFUL)],
    "tool-call": lambda: [calls(CALL), Reply(DONE)],
    "text-and-tool-call": lambda: [Reply(Said((*GREETING.parts, CALL))), Reply(DONE)],
    "two-tool-calls": lambda: [calls(CALL, OTHER_CALL), Reply(DONE)],
    "50-rounds": lambda: [*[calls(CALL)] * 50, Reply(DONE)],
    "plain-json": lambda: [Reply(GREETING, plain=True)],
    "plain-json-tool-call": lambda: [Reply(Said((CALL,)), plain=True), Reply(DONE, plain=True)],
    "20000-deltas": lambda: [deltas(20_000)],
    "20000-deltas-batched": lambda: [deltas(20_000, piece=65_536)],
    "paced-deltas": lambda: [deltas(200, gap=0.005)],
}
_DELIVERIES: Mapping[str, Callable[[], Scenario]] = {
    "byte-by-byte": _delivered(piece=1),
    "split-utf8": _delivered(piece=3),
    "crlf": _delivered(newline="\r\n"),
    "crlf-byte-by-byte": _delivered(newline="\r\n", piece=1),
    "cr": _delivered(newline="\r"),
    "bom": _delivered(bom=True),
    "bom-byte-by-byte": _delivered(bom=True, piece=1),
    "content-length": _delivered(framing="length"),
    "close-delimited": _delivered(framing="close"),
    "gzip": _delivered(gzip="whole"),
    "gated": _delivered(gated=True),
    "slow-head": _delivered(head_gap=0.001),
}
_FAULTS: Mapping[str, Callable[[], Scenario]] = {
    **{f"status-{code}": _refused(code) for code in STATUSES},
    "status-429-seconds": lambda: [status(429, Retry_After="1")],
    "status-429-date": lambda: _retry_after_date,
    "status-503-seconds": lambda: [status(503, Retry_After="1")],
    "closed-before-head": _delivered(head=False, cut_after=0),
    "silent-before-head": _delivered(head=False, stall_after=0),
    "closed-after-head": _delivered(cut_after=0),
    "silent-after-head": _delivered(stall_after=0),
    "cut": _delivered(cut_after=3),
    "cut-content-length": _delivered(cut_after=3, framing="length"),
    "cut-tool-call": lambda: [Reply(Said((CALL,)), delivery=Delivery(cut_after=4))],
    "stall": _delivered(stall_after=3),
    "html-200": lambda: [Reply(HTML, content_type="text/html; charset=utf-8")],
    "html-502": lambda: [Reply(HTML, status=502, content_type="text/html")],
    "broken-gzip": _delivered(gzip="broken"),
    "redirect": lambda: [redirect("http://marvin.invalid/v1/chat/completions")],
    "empty-body": lambda: [Reply(b"")],
    "empty-reply": lambda: [Reply(Said(()))],
    "unknown-finish": lambda: [Reply(Said(GREETING.parts, finish="because"))],
    "10-megabytes-in-one-line": lambda: [says("x" * 10_000_000)],
    "10-megabytes-of-nothing": lambda: [Reply(b"x" * 10_000_000)],
    "arguments-double-encoded": lambda: [calls(Call("read_file", '"{\\"path\\": \\"README.md\\"}"')), Reply(DONE)],
    "arguments-not-json": lambda: [calls(Call("read_file", "path=README.md")), Reply(DONE)],
    "arguments-cut": lambda: [calls(Call("read_file", '{"path": "READ')), Reply(DONE)],
    "no-arguments": lambda: [calls(Call("git_status", "")), Reply(DONE)],
    "unknown-tool": lambda: [calls(Call("read_fil", CALL.arguments)), Reply(DONE)],
}
SCENARIOS: Mapping[str, Callable[[], Scenario]] = {**_ORDINARY, **_DELIVERIES, **_FAULTS, **openai_oddities.SCENARIOS}
"""Every named scenario, made when it is called for."""
