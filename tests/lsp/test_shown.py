"""Nothing that an editor is given to show acts on a screen or hides."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.events import (
    Command,
    Edit,
    Event,
    Hunk,
    MessageDelta,
    MessageFinished,
    Notice,
    Patch,
    PatchApplied,
    Permission,
    Script,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from marvin_server.lsp.shown import ShownEvents, shown
from marvin_server.messages import Message, Text, ToolResult
from marvin_server.protocol.sessions import Session
from marvin_server.sanitise import printable
from tests.lsp.editor import Editor, Refused
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import runs, says

BAD = "a\x1b]0;x\x07\u202eb"
GOOD = "a␛]0;x␇⟨U+202E⟩b"


def test_every_text_of_an_event_or_an_answer_is_harmless() -> None:
    said = Message("tool", (Text(BAD), ToolResult("1", "t", BAD)), "m")
    happened: list[Event] = [
        Notice("warning", BAD),
        MessageFinished(said),
        ToolStarted("1", "t", BAD, "read", {BAD: [BAD, {"a": BAD, "n": 1}]}, (BAD,)),
        ToolFinished("1", "t", "ok", 1, BAD, None, {"diff": BAD}),
    ]
    events = ShownEvents()
    assert [events.next(event) for event in happened] == [
        Notice("warning", GOOD),
        MessageFinished(Message("tool", (Text(GOOD), ToolResult("1", "t", GOOD)), "m")),
        ToolStarted("1", "t", GOOD, "read", {GOOD: [GOOD, {"a": GOOD, "n": 1}]}, (GOOD,)),
        ToolFinished("1", "t", "ok", 1, GOOD, None, {"diff": GOOD}),
    ]


def test_what_is_sent_back_opened_or_looked_for_is_exact() -> None:
    edit = Edit("update", BAD, f"file:///{BAD}", (Hunk("1", 1, (BAD,), 1, (BAD,)),))
    assert shown(PatchApplied(Patch("p", BAD, (edit,)))) == PatchApplied(Patch("p", GOOD, (edit,)))
    session = Session("s", BAD, f"/{BAD}", "auto", "m", "", "", False)
    assert shown(session).cwd == f"/{BAD}"


def test_a_question_hides_nothing_and_its_command_stays_exact() -> None:
    hidden, seen = "a\u200db c\r\nd\u00a0\u202e", "a⟨U+200D⟩b c␍\nd⟨U+00A0⟩⟨U+202E⟩"
    line = seen.replace("\n", "␊")
    command = Command(hidden, hidden, hidden, {hidden: hidden}, (Script(hidden, hidden, "d"),), hidden)
    asked = Permission("1", "command", hidden, hidden, hidden, "c", command, hidden)
    told = Command(hidden, seen, seen, {seen: seen}, (Script(seen, seen, "d"),), seen, seen)
    assert shown(asked) == Permission("1", "command", line, seen, seen, "c", told, seen)
    assert shown(shown(asked)) == shown(asked)
    plain = Permission("1", "command", "ls", "why", "rule", "c", Command("ls", "bash", "/"), "+a\n")
    assert shown(plain) == plain


def test_what_is_nested_too_deeply_is_not_shown() -> None:
    deep: Any = BAD
    for _ in range(500):
        deep = [deep]
    assert "[nested too deeply to be shown]" in json.dumps(shown(ToolStarted("1", "t", "t", "read", {"a": deep})).input)


@given(st.lists(st.text(alphabet="ab\x1b[31m;\r\n\u200d\u200c\u202e👩💻ة", max_size=6), max_size=8))
def test_however_deltas_are_cut_what_is_shown_is_a_beginning_of_the_whole(pieces: list[str]) -> None:
    for kind in (MessageDelta, ToolOutput):
        events = ShownEvents()
        given_out = [events.next(kind("1", piece)) for piece in pieces]
        told = "".join(event.text for event in given_out if isinstance(event, MessageDelta | ToolOutput))
        assert printable("".join(pieces)).startswith(told)
        assert shown(told) == told


async def test_what_a_model_and_a_client_write_reaches_the_editor_harmless(
    editor: Editor, workspace: Path, model_server: ThreadedModelServer
) -> None:
    line = f"echo {BAD}"
    model_server.play([runs(line), says("\x1b", "[2Jdone", "\u202e")])
    session_id = await editor.session(workspace, title=f"{BAD}\nsecond")
    await editor.turn(session_id)
    asked = (await editor.event("permission.requested", session_id))["permission"]
    assert (asked["command"]["display"], asked["command"]["revealed"]) == (line, f"echo {GOOD}")
    assert asked["title"] == f"echo {GOOD}"
    loaded = await editor.load(session_id)
    assert (loaded["openPermissions"], loaded["session"]["title"]) == ([asked], f"{GOOD} second")
    await editor.decide(session_id, "deny")
    await editor.event("turn.finished", session_id)
    assert editor.said(session_id) == "␛[2Jdone⟨U+202E⟩"
    assert "\x1b" not in "".join(map(str, _texts(editor.messages)))
    with pytest.raises(Refused) as refused:
        await editor.load("\u202e")
    assert "\u202e" not in refused.value.error["message"]


def _texts(value: Any) -> list[str]:
    """Every text but the exact one of a command."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return [text for name, each in fields if name != "display" for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in cast("list[Any]", value) for text in _texts(each)]
    return [value] if isinstance(value, str) else []
