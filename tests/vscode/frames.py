"""The longest frame of the chat view while 200 KB of one kind of text come in, at 45 KB/s."""

from itertools import count
from typing import Any

from playwright.async_api import BrowserContext

from tests.vscode.view.page import opened, snapshot

CHARACTERS = 200_000
WATCH = """() => {
  window.frames = { last: performance.now(), longest: 0 };
  const next = (now) => {
    window.frames.longest = Math.max(window.frames.longest, now - window.frames.last);
    window.frames.last = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
_KINDS = {
    "prose": ("", "Word {0} and *more* words\nof a `line` that goes on\n\n"),
    "paragraph": ("", "Word {0} and *more* words of a `line` that goes on\n"),
    "code": ("```python\n", "value_{0} = compute('{0}', {0} + 1)  # a remark\n"),
    "list": ("", "- item {0} with `code` and *words*\n  - nested {0}\n"),
    "quote": ("", "> Quoted line {0} with `code` and *words*\n"),
    "table": ("| name | value | what |\n|---|---|---|\n", "| name {0} | {0} | `code` and *words* |\n"),
}
_STREAM = """async (text) => {
  let seq = 1;
  const say = (event) =>
    tell({ type: "events", events: { sessionId: "s", turnId: "t", seq: ++seq, events: [event] } });
  for (let at = 0; at < text.length; at += 1500) {
    say({ type: "message.delta", messageId: "a", text: text.slice(at, at + 1500) });
    await new Promise((resolve) => setTimeout(resolve, 33));
  }
  const parts = [{ type: "text", text }];
  say({ type: "message.finished", message: { role: "assistant", id: "a", parts } });
  await new Promise((resolve) => setTimeout(resolve, 1000));
}"""


async def longest(browser: BrowserContext) -> dict[str, float]:
    """In ms, for each kind of text."""
    return {f"{kind} frame ms": await _longest(browser, *lines) for kind, lines in _KINDS.items()}


async def _longest(browser: BrowserContext, head: str, line: str) -> float:
    text = head
    for number in count():
        if len(text) >= CHARACTERS:
            break
        text += line.format(number)
    started: dict[str, Any] = {"type": "turn.started", "turnId": "t", "sessionId": "s", "provider": "p", "model": "m"}
    async with opened(browser) as view:
        await view.tell(snapshot())
        await view.events(1, started)
        await view.page.evaluate(WATCH)
        await view.page.evaluate(_STREAM, text)
        return await view.page.evaluate("frames.longest")
