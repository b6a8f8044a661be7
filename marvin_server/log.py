"""Marvin's log: JSON lines, one file a day in the state folder, kept for 14 days, opened at the first record."""

import json
import logging
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from marvin_server.sanitise import printable

_KEPT_DAYS = 14


class _Line(logging.Formatter):
    """A record as one line of JSON, without secrets."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        if record.exc_info:
            entry["traceback"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)


class DailyLog(logging.Handler):
    """Appends each record to ``folder/YYYY-MM-DD.jsonl`` (UTC), with the secrets taken out by ``redact``."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(_Line(redact))
        self._folder = folder
        self._pruned = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line. A log that cannot be written is no reason to stop."""
        line = self.format(record)
        try:
            self._prune()
            path = self._folder / f"{datetime.now(UTC):%Y-%m-%d}.jsonl"
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                file.write(line + "\n")
        except OSError:
            pass

    def _prune(self) -> None:
        if self._pruned:
            return
        self._pruned = True
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        oldest = time.time() - _KEPT_DAYS * 86400
        for file in self._folder.glob("????-??-??.jsonl"):
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)


class _Shown(logging.Formatter):
    """Records for a terminal: without secrets, and with nothing in them that acts."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return printable(self._redact(super().format(record)))


def start(
    folder: Path,
    redact: Callable[[str], str],
    *,
    verbose: bool = False,
    warnings: bool = False,
    file: Path | None = None,
) -> None:
    """Send what Marvin logs to ``folder``, to ``file`` too where one is named, and with ``verbose`` to stderr as well;
    with ``warnings`` only what is one, or worse. Raises ``OSError`` for a ``file`` that cannot be written."""
    logger = logging.getLogger("marvin")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(DailyLog(folder, redact))
    if file is not None:
        also = logging.FileHandler(file, encoding="utf-8", errors="replace")
        also.setFormatter(_Line(redact))
        logger.addHandler(also)
    if verbose or warnings:
        shown = logging.StreamHandler()
        shown.setLevel(logging.INFO if verbose else logging.WARNING)
        shown.setFormatter(_Shown(redact))
        logger.addHandler(shown)
