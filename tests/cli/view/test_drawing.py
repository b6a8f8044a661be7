"""Events as lines."""

import pytest
from marvin_cli.view.cells import Line
from marvin_cli.view.diffs import patch_lines, unified_lines
from marvin_cli.view.drawing import SPOKEN, Drawing
from marvin_cli.view.question import question_lines

from marvin_server.events import (
    Edit,
    Hunk,
    MessageDelta,
    MessageFinished,
    Notice,
    Patch,
    ThoughtDelta,
    ThoughtFinished,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from marvin_server.messages import Message, Text, Usage
from marvin_server.sanitise import revealed
from tests.cli.view.stage import events, question


class Clock:
    """A clock that goes by itself: each look takes a second."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def drawing() -> Drawing:
    return Drawing(lambda: 60, clock=Clock())


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def test_what_a_recorded_turn_shows() -> None:
    drawn = drawing()
    for event in events("chat"):
        drawn.show(event)
    shown = texts(drawn.take())
    assert shown[0].startswith("∴ Thought for 1.0 s: ")
    assert drawn.rest() == []


def test_deltas_are_shown_once_and_a_message_without_them_as_a_whole() -> None:
    drawn = drawing()
    drawn.show(MessageDelta("1", "Hello "))
    drawn.show(MessageDelta("1", "*you*"))
    assert (texts(drawn.take()), texts(drawn.rest())) == ([], ["Hello you"])
    drawn.show(MessageFinished(Message("assistant", (Text("Hello *you*"),), id="1")))
    drawn.show(MessageFinished(Message("assistant", (Text("And *you*"),), id="2")))
    assert texts(drawn.take()) == ["Hello you", "And you"]


def test_a_running_call_shows_its_time_and_the_end_of_its_output() -> None:
    drawn = drawing()
    drawn.show(ToolStarted("1", "run_command", "make", "execute", {}))
    drawn.show(ToolOutput("1", "one\ntwo\nthree\nfo"))
    drawn.show(ToolOutput("1", "ur\n"))
    assert drawn.is_moving
    assert texts(drawn.rest()) == ["○ make  1.0 s", "  two", "  three", "  four"]


def test_an_ended_call_says_how_it_ended_and_folds_its_output() -> None:
    drawn = drawing()
    drawn.show(ToolStarted("1", "run_command", "make", "execute", {}))
    output = "\n".join(f"line {number}" for number in range(20))
    drawn.show(ToolFinished("1", "run_command", "error", 61_000, f"{output}\n[exit code 2]", 2))
    assert texts(drawn.take()) == [
        "● make  failed with exit code 2, 1 min 01 s",
        "  line 0",
        "  line 1",
        "  … 15 more lines",
        *(f"  line {number}" for number in (17, 18, 19)),
    ]
    assert not drawn.is_moving


def test_what_a_model_or_a_tool_writes_cannot_act_on_the_terminal() -> None:
    drawn = drawing()
    hostile = "\x1b]0;title\x07\x1b[2J\u202eabc"
    drawn.show(MessageDelta("1", hostile[:3]))
    drawn.show(MessageDelta("1", hostile[3:]))
    drawn.show(ThoughtDelta("2", hostile))
    drawn.show(ToolStarted("3", "t", hostile, "execute", {}))
    drawn.show(ToolOutput("3", hostile))
    drawn.show(Notice("warning", hostile))
    drawn.say(hostile, "output")
    drawn.echo(hostile)
    everything = "".join(texts(drawn.rest()))
    drawn.show(ToolFinished("3", "t", "error", 1, hostile))
    drawn.show(ThoughtFinished("2", hostile))
    drawn.show(TurnFinished("t", "completed", Usage()))
    everything += "".join(texts(drawn.take()))
    assert "␛[2J" in everything
    assert not {"\x1b", "\x07", "\u202e"} & set(everything)


@pytest.mark.parametrize(
    ("stop", "said"),
    [("cancelled", "[Cancelled]"), ("denied", "Stopped: the permission was denied.")],
)
def test_a_turn_that_was_stopped_says_so(stop: str, said: str) -> None:
    drawn = drawing()
    drawn.show(MessageDelta("1", "Half a sent"))
    drawn.show(TurnFinished("t", "cancelled" if stop == "cancelled" else "denied", Usage()))
    assert texts(drawn.take()) == ["Half a sent", "", said]


def test_a_screen_reader_hears_words() -> None:
    drawn = Drawing(lambda: 60, SPOKEN)
    drawn.echo("hello")
    drawn.show(ToolStarted("1", "read_file", "read_file a", "read", {}))
    drawn.show(ToolFinished("1", "read_file", "ok", 100, "text"))
    assert texts(drawn.take()) == ["You: hello", "", "Tool: read_file a  done 0.1 s"]


def test_the_words_that_differ_are_marked() -> None:
    hunk = Hunk("1", 9, ("a = total / count\n", "same\n"), 9, ("a = total // count\n", "same\n", "new\n"))
    shown = patch_lines(Patch("p", "t", (Edit("update", "x.py", "file:///x.py", (hunk,)),)))
    assert texts(shown) == [
        "x.py  +3 -2",
        "  9 - a = total / count",
        "  9 + a = total // count",
        " 10   same",
        " 11 + new",
    ]
    assert ("removed changed", "/") in shown[1].fragments or ("added changed", "/") in shown[2].fragments


def test_a_unified_diff_keeps_each_of_its_lines() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-one\n-two\n+three\n+four\n\\ No newline at end of file"
    assert texts(unified_lines(diff, revealed)) == diff.split("\n")


def test_a_question_spells_out_what_hides() -> None:
    shown = "\n".join(texts(question_lines(question(2))))
    assert "echo ␛[31mred" in shown
    assert "  directory  /home/ada/shop" in shown
    assert "  with       LANG=C" in shown
