"""``python -m tests.transcripts.play FILE`` is a server that plays a transcript to the editor at its standard input.

For the editors' suites: the same messages each time, without a model or a store. It waits for each message of the
client by its method, or for the answer to a request of the server; then it sends what the server had sent next. Ids of
the client's requests, and the URI of the folder in which it was started, are put in for those of the transcript. A
message of the client that the transcript does not expect next is passed over; a request is then answered with -32601.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from marvin_server.lsp.framing import Frames, encode

_METHOD_NOT_FOUND = -32601


class Player:
    """Plays ``lines``; ``send`` takes the server's messages."""

    def __init__(self, lines: list[dict[str, Any]], send: Any) -> None:
        self._lines = lines
        self._send = send
        self._ids: dict[Any, Any] = {}
        self._at = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be said by either side."""
        return self._at == len(self._lines)

    def take(self, message: dict[str, Any]) -> None:
        """Go on when this is what the client is to say next."""
        expected: dict[str, Any] = {} if self.is_over else self._lines[self._at]["message"]
        if message.get("method") != expected.get("method") or (
            "method" not in message and not _answers(message, expected)
        ):
            if "method" in message and "id" in message:
                error = {"code": _METHOD_NOT_FOUND, "message": f"the transcript has {expected.get('method')!r} next"}
                self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        if "method" in message and "id" in message:
            self._ids[expected["id"]] = message["id"]
        self._at += 1
        while not self.is_over and self._lines[self._at]["from"] == "server":
            told = self._lines[self._at]["message"]
            self._send(told if "method" in told else {**told, "id": self._ids.get(told["id"], told["id"])})
            self._at += 1


def _answers(message: dict[str, Any], expected: dict[str, Any]) -> bool:
    return "method" not in expected and message.get("id") == expected.get("id")


def main(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("file:///workspace", Path.cwd().as_uri())
    text = text.replace('"/workspace"', json.dumps(str(Path.cwd())))

    def send(message: dict[str, Any]) -> None:
        sys.stdout.buffer.write(encode(message))
        sys.stdout.buffer.flush()

    player = Player([json.loads(line) for line in text.splitlines()], send)
    frames = Frames()
    while not player.is_over and (chunk := os.read(sys.stdin.fileno(), 1 << 16)):
        for body in frames.feed(chunk):
            player.take(json.loads(body))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
