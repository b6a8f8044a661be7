"""The log: JSON lines, a file a day, no secrets."""

import json
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server.log import DailyLog


@pytest.fixture
def logger(tmp_path: Path) -> Iterator[logging.Logger]:
    logger = logging.Logger("marvin.test")
    log = DailyLog(tmp_path / "logs", lambda text: text.replace("s3cret-key", "***"))
    logger.addHandler(log)
    yield logger
    log.close()


def test_a_record_is_one_line_of_json_without_secrets(logger: logging.Logger, tmp_path: Path) -> None:
    try:
        raise ValueError("the key s3cret-key\nis wrong")
    except ValueError:
        logger.exception("request with %s failed", "s3cret-key")
    (file,) = (tmp_path / "logs").iterdir()
    text = file.read_text()
    entry = json.loads(text)
    assert (entry["level"], entry["logger"], entry["message"]) == ("error", "marvin.test", "request with *** failed")
    assert "ValueError: the key ***\nis wrong" in entry["traceback"]
    assert "s3cret" not in text
    assert file.stat().st_mode & 0o777 == 0o600


def test_files_older_than_14_days_go_and_others_stay(logger: logging.Logger, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, days in (("2001-01-01.jsonl", 15), ("2001-01-02.jsonl", 13), ("notes.txt", 100)):
        (folder / name).write_text("")
        then = time.time() - days * 86400
        os.utime(folder / name, (then, then))
    logger.warning("now")
    assert {"2001-01-02.jsonl", "notes.txt"} < {file.name for file in folder.iterdir()}
    assert not (folder / "2001-01-01.jsonl").exists()


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file in the way")
    logger = logging.Logger("marvin.test")
    logger.addHandler(DailyLog(tmp_path / "logs", str))
    logger.error("nobody hears this")
