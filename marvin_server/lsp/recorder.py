"""``--record``: every message of a connection in a file, for reports and for tests that replay it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

from marvin_server.errors import UsageError


class Recorder:
    """Adds a line of JSON for each message to ``file``: ``at`` (seconds since the start), ``from`` (client or server)
    and ``message``, whose texts ``redact`` has taken the secrets from.

    Raises ``UsageError`` where the file cannot be written. A disk that is full later is no reason to stop.
    """

    def __init__(self, file: Path, redact: Callable[[str], str]) -> None:
        try:
            self._file = file.open("a", encoding="utf-8", errors="replace", buffering=1)
        except OSError as error:
            raise UsageError(f"--record {file}: {error.strerror}") from None
        self._redact = redact
        self._started = time.monotonic()

    def keep(self, side: Literal["client", "server"], message: Any) -> None:
        """Write one message down."""
        line = {"at": round(time.monotonic() - self._started, 4), "from": side, "message": self._clean(message)}
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError:
            return

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {name: self._clean(item) for name, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._clean(item) for item in cast("list[Any]", value)]
        return value
