"""The event-stream format: bytes in, events out.

Rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream. ``retry`` is ignored,
since nothing here connects again by itself.
"""

import json
from typing import NamedTuple

from marvin_server.errors import BadRequest

DONE = "[DONE]"
LIMIT = 32_000_000


class ServerEvent(NamedTuple):
    """One event. ``event`` is ``message`` unless the server named it; ``id`` is the last id that it sent, or empty."""

    event: str
    data: str
    id: str = ""


class EventStream:
    """Reads one stream, however it is cut into chunks. The work is linear in the bytes fed."""

    def __init__(self) -> None:
        self._unfinished_line: list[bytes] = []
        self._after_cr = False
        self._at_start = True
        self._size = 0
        self._event = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete.

        Raises ``BadRequest`` when more than ``LIMIT`` bytes came without completing an event.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._size += len(chunk)
        lines, newline, rest = chunk.rpartition(b"\n")
        events: list[ServerEvent] = []
        if newline:
            if self._unfinished_line:
                lines = b"".join((*self._unfinished_line, lines))
                self._unfinished_line.clear()
            events = self._read_lines(lines)
        if rest:
            self._unfinished_line.append(rest)
        if self._size > LIMIT:
            raise BadRequest(f"the stream holds an event of more than {LIMIT // 1_000_000} MB")
        return events

    def close(self) -> list[ServerEvent]:
        """The event that the end of the stream left without its blank line, if its data is whole.

        The standard drops such an event. Vendors do end their streams that way, so data that is ``[DONE]`` or parses
        as JSON counts as whole.
        """
        if rest := b"".join(self._unfinished_line):
            self._read_lines(rest)
            self._unfinished_line.clear()
        return [self._finish_event()] if self._data and _is_whole("\n".join(self._data)) else []

    def _read_lines(self, lines: bytes) -> list[ServerEvent]:
        """Read whole lines; ``lines`` lacks the last one's line end."""
        text = lines.decode("utf-8", "replace")
        if self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        events: list[ServerEvent] = []
        for line in text.split("\n"):
            if line.startswith("data: "):
                self._data.append(line[6:])
            elif line:
                self._read_field(line)
            else:
                self._size = 0
                if self._data:
                    events.append(self._finish_event())
                self._event = ""
        return events

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value

    def _finish_event(self) -> ServerEvent:
        event = ServerEvent(self._event or "message", "\n".join(self._data), self._id)
        self._data.clear()
        return event


def _is_whole(data: str) -> bool:
    if data == DONE:
        return True
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
