"""What becomes of a long conversation, in a real Neovim: summaries as they are made, taken back, and loaded."""

import json
import re
from pathlib import Path
from typing import Any

from tests.nvim.neovim import Drive
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import says


def _answer(body: Any, _: int) -> Reply:
    return says("Note: tell jokes.\n\n\x1b[2J" if "You write the memory of Marvin" in json.dumps(body) else "A joke.")


def _slowly(body: Any, _: int) -> Reply:
    is_summary = "You write the memory of Marvin" in json.dumps(body)
    return says("Never.", gated=True) if is_summary else says("A joke.")


def test_while_a_summary_is_written_it_is_seen_and_stopped_as_a_turn_is(
    drive: Drive, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_slowly)
    shown = drive("summarising.lua", tmp_path, model_environ)
    assert "summarising" in shown["line"]
    assert "cancel" in shown["keys"]
    line, keys = shown["stopped"]
    assert ("ready" in line, "summarising" in line, "cancel" in keys) == (True, False, False)
    assert "Summarised" not in shown["told"]
    assert shown["said"] == ["Marvin: stopped"]


def test_a_summary_is_a_fold_below_what_it_stands_for_and_is_loaded_as_it_was_told(
    drive: Drive, tmp_path: Path, model_server: ThreadedModelServer, model_environ: dict[str, str]
) -> None:
    model_server.play(_answer)
    shown = drive("summaries.lua", tmp_path, model_environ)
    context, asked, told = shown["context"], shown["asked"], shown["told"]
    rows = re.findall(r"^(?:Note: |      )(\S.*?) +([\d,]+|tokens)$", context, flags=re.MULTILINE)
    assert rows[0] == ("block", "tokens")
    assert rows[-1][0] == "conversation: 12 messages"
    assert len({len(line) for line in context.splitlines()[:-1]}) == 1
    assert asked.startswith("Note: A summary takes the place of 4 messages, about:\n        - Joke 1")
    assert "\n      +Note: tell jokes." in asked
    assert asked.endswith("; /compact carries it out")
    summarised, undone = re.findall(r"^Summar.*tokens\)$", told, flags=re.MULTILINE)
    assert re.fullmatch(r"Summarised: 4 earlier messages \([\d,]+ → [\d,]+ tokens\)", summarised)
    assert re.fullmatch(r"Summary taken back \([\d,]+ → [\d,]+ tokens\)", undone)
    assert re.fullmatch(r"Summarised: 4 earlier message.*, \d+ lines", shown["folded"])
    body = told.partition(summarised)[2]
    assert body.startswith("\n[Marvin: 4 earlier messages")
    assert "\n  Note: tell jokes.\n\n␛[2J" in body
    assert told.index("A joke.") < told.index(summarised) < told.index("Note: the summary was taken back")
    assert shown["loaded"] == re.sub(r"\n\nNote: .*(\n      .*)*", "", told)
    assert shown["problem"] == "/compact --now"
