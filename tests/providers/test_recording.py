"""What a recording holds, and what never comes into it."""

import json
import stat
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import UsageError
from marvin_server.providers import recording
from marvin_server.providers.recording import Answered, Asked, Chunk, Failure, Recorded, Speaker, Tape
from marvin_server.providers.redaction import Redaction

KEY = 'sk-"quoted"-ü-1234'
SPEAKER = Speaker("openai_chat", "Acme", "https://acme.example/v1", "ACME_KEY", "acme.json", {"name": "acme"})
LINE = Recorded(
    1,
    SPEAKER,
    Asked("POST", "https://acme.example/v1/chat/completions", {"accept": "*/*"}, {"model": "m"}),
    Answered(200, {"content-type": "text/plain"}, 3, (Chunk(4, text="a\u2028b\n"), Chunk(5, base64=b"\xff\x00"))),
    "error",
    Failure("Interrupted", "it broke"),
)


def test_lines_are_added_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    Tape(file).write(LINE)
    Tape(file).write(LINE)
    assert recording.read(file) == (LINE, LINE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_older_recording_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    Tape(file).write(LINE)
    file.chmod(0o644)
    Tape(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "problem"),
    [("my notes\n", "is no recording"), ('{"recording":1,"provider":', "cut short"), ('{"recording":2}\n', "is no")],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, content: str, problem: str) -> None:
    file = tmp_path / "notes"
    file.write_text(content)
    file.chmod(0o644)
    with pytest.raises(UsageError, match=problem):
        Tape(file)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (content, 0o644)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        Tape(tmp_path)


def test_an_empty_recording_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").touch()
    with pytest.raises(UsageError, match="empty"):
        recording.read(tmp_path / "run.jsonl")


def test_secrets_leave_values_headers_and_addresses() -> None:
    clean = Redaction((KEY, "none"))
    assert clean.value({"a": [f"x {KEY}", 1, None], KEY: "none"}) == {"a": ["x ***", 1, None], "***": "none"}
    headers = {"authorization": "Basic eA==", "x-api-key": "1", "Api-Key": "1", "Cookie": "1", "x-note": KEY, "a": "b"}
    assert clean.headers(headers) == {"x-note": "***", "a": "b"}
    assert clean.url("https://me:pw@acme.example:8/v1?api-version=2&key=1&sig=2") == (
        "https://acme.example:8/v1?api-version=2&key=***&sig=***"
    )


@given(before=st.binary(max_size=8), after=st.binary(max_size=8), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_a_secret_is_found_however_an_answer_is_cut(before: bytes, after: bytes, cuts: list[int]) -> None:
    for form in (KEY, json.dumps(KEY)[1:-1], json.dumps(KEY, ensure_ascii=False)[1:-1]):
        body = before + form.encode() + after
        places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
        pieces = [body[start:end] for start, end in pairwise(places)]
        clean = Redaction([KEY]).chunks(pieces)
        assert [len(piece) for piece in clean] == [len(piece) for piece in pieces]
        assert b"".join(clean) == before + b"*" * len(form.encode()) + after
