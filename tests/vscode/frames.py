"""The longest frame of the chat view while much of one kind comes in and is unfolded: 200 KB at 45 KB/s."""

from collections.abc import Callable
from itertools import count
from typing import Any

from playwright.async_api import BrowserContext

from tests.vscode.view.page import opened, snapshot

Event = dict[str, Any]

CHARACTERS = 200_000
LINES = 1_000
LONGEST = 50_000
"""What a tool gives back, at most."""
WATCH = """() => {
  window.frames = { last: performance.now(), longest: 0 };
  const next = (now) => {
    window.frames.longest = Math.max(window.frames.longest, now - window.frames.last);
    window.frames.last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
_TEXTS = {
    "prose": ("", "Word {0} and *more* words\nof a `line` that goes on\n\n"),
    "paragraph": ("", "Word {0} and *more* words of a `line` that goes on\n"),
    "code": ("```python\n", "value_{0} = compute('{0}', {0} + 1)  # a remark\n"),
    "list": ("", "- item {0} with `code` and *words*\n  - nested {0}\n"),
    "quote": ("", "> Quoted line {0} with `code` and *words*\n"),
    "table": ("| name | value | what |\n|---|---|---|\n", "| name {0} | {0} | `code` and *words* |\n"),
}
_STREAM = """async (events) => {
  let seq = 1;
  for (const event of events) {
    tell({ type: "events", events: { sessionId: "s", turnId: "t", seq: ++seq, events: [event] } });
    await new Promise((resolve) => setTimeout(resolve, 33));
    for (const fold of document.querySelectorAll("details:not([open]) > summary, .fold[aria-expanded=false]")) {
      fold.click();
    }
    [...document.querySelectorAll("button")].find((button) => /^Show all/.test(button.textContent))?.click();
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
}"""


async def longest(browser: BrowserContext) -> dict[str, float]:
    """In ms, for each kind of text, for a thought, for the output of a tool, and for a change of 1,000 lines."""
    kinds = {kind: _answer(_text(*lines)) for kind, lines in _TEXTS.items()}
    kinds |= {"thought": _thought(_text(*_TEXTS["prose"])), "output": _output(_text("", "line {0} of a command\n"))}
    kinds |= {"diff": _output(_diff(), at_once=True), "change": _change()}
    return {f"{kind} frame ms": await _longest(browser, events) for kind, events in kinds.items()}


def _text(head: str, line: str) -> str:
    text = head
    for number in count():
        if len(text) >= CHARACTERS:
            return text
        text += line.format(number)
    raise AssertionError


def _parts(text: str, event: Callable[[str], Event]) -> list[Event]:
    return [event(text[at : at + 1500]) for at in range(0, len(text), 1500)]


def _answer(text: str) -> list[Event]:
    message = {"role": "assistant", "id": "a", "parts": [{"type": "text", "text": text}]}
    deltas = _parts(text, lambda part: {"type": "message.delta", "messageId": "a", "text": part})
    return [*deltas, {"type": "message.finished", "message": message}]


def _thought(text: str) -> list[Event]:
    deltas = _parts(text, lambda part: {"type": "thought.delta", "messageId": "a", "text": part})
    return [*deltas, {"type": "thought.finished", "messageId": "a", "text": text}]


def _output(text: str, *, at_once: bool = False) -> list[Event]:
    call = {"toolCallId": "c", "name": "run_command"}
    started: Event = {"type": "tool.started", **call, "title": "make", "kind": "execute", "input": {}, "locations": []}
    deltas = _parts(text, lambda part: {"type": "tool.output", "toolCallId": "c", "text": part})
    finished: Event = {
        "type": "tool.finished",
        **call,
        "status": "ok",
        "durationMs": 1,
        "output": text[:LONGEST],
        "details": {},
    }
    return [started, *([] if at_once else deltas), finished]


def _diff() -> str:
    """As long as the output of a command can be."""
    changes = "".join(f"-value_{number} = {number}\n+value_{number} = {number + 1}\n" for number in range(LINES))
    return f"--- a/values.py\n+++ b/values.py\n@@ -1,{LINES} +1,{LINES} @@\n{changes}"


def _change() -> list[Event]:
    lines = [f"value_{number} = compute('{number}', {number} + 1)  # a remark\n" for number in range(LINES)]
    hunk = {"id": "h", "oldStart": 1, "oldLines": [], "newStart": 1, "newLines": lines}
    edit = {"kind": "add", "path": "values.py", "uri": "file:///workspace/values.py", "hunks": [hunk]}
    return [{"type": "patch.applied", "patch": {"id": "p", "title": "create_file", "edits": [edit]}}]


async def _longest(browser: BrowserContext, events: list[Event]) -> float:
    started = {"type": "turn.started", "turnId": "t", "sessionId": "s", "provider": "p", "model": "m"}
    async with opened(browser) as view:
        await view.tell(snapshot())
        await view.events(1, started)
        await view.page.evaluate(WATCH)
        await view.page.evaluate(_STREAM, events)
        return await view.page.evaluate("frames.longest")
