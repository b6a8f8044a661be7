"""``python -m tests.cli.view.stage KIND`` shows a view in this terminal, and what happens in it.

What is entered is a transcript of tests/transcripts, whose events are shown and whose questions are asked, or one of
``_ACTS``. Anything else is said back. It ends with the input.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from marvin_cli.view.base import Candidate, Choice, Ended, Interrupted, Standing, View
from marvin_cli.view.opening import Kind, open_view

from marvin_server.events import Command, Event, MessageDelta, Permission, PermissionRequested

_TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"
_NAMES = frozenset(file.stem for file in _TRANSCRIPTS.glob("*.jsonl"))
_DELTAS = 20_000


class Words:
    """Completes names, and remembers lines for as long as it lives."""

    def __init__(self) -> None:
        self._lines = ["the first line", "the second line"]

    async def complete(self, text: str, cursor: int) -> Sequence[Candidate]:
        word = text[:cursor].rpartition(" ")[2]
        names = ("/model", "/mode", "/undo") if word.startswith("/") else ()
        return [
            Candidate(name, len(word), name, f"about {name[1:]}")
            for name in names
            if name.startswith(word) and name != word
        ]

    def earlier(self) -> Sequence[str]:
        return self._lines

    def keep(self, text: str) -> None:
        self._lines.append(text)


def events(name: str) -> Iterator[Event]:
    """The events of a transcript, as the core had them."""
    for line in (_TRANSCRIPTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        message = json.loads(line)["message"]
        if message.get("method") == "marvin/turn/events":
            for event in message["params"]["events"]:
                yield msgspec.convert({"cost_usd": None, **_snake(event)}, cast("type[Event]", Event))


def question(lines: int) -> Permission:
    """A question about a command whose diff has so many lines."""
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old = 1\n+new = 1\n"
    return Permission(
        "q",
        "command",
        "make all",
        "Builds everything.",
        "mode auto: commands must be asked for",
        command=Command("make all\necho \x1b[31mred", "/bin/bash", "/home/ada/shop", {"LANG": "C"}, sandbox="none"),
        diff=diff + "".join(f" line {number}\n" for number in range(1, lines + 1)),
        options=("allow_once", "allow_session", "allow_edited", "deny", "deny_and_stop"),
    )


def _snake(value: Any, name: str = "") -> Any:
    """The dialect's names and words as the core spells them; a tool's own keys stay."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if name in ("input", "details", "env_changes"):
            return fields
        return {_word(key): _snake(field, _word(key)) for key, field in fields.items()}
    if isinstance(value, list):
        return [_snake(each, name) for each in cast("list[Any]", value)]
    is_word = isinstance(value, str) and name in ("type", "kind", "stop_reason", "decision", "finish", "options")
    return _word(value) if is_word else value


def _word(text: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in text)


async def _play(view: View, name: str) -> None:
    for event in events(name):
        view.show(event)
        if isinstance(event, PermissionRequested):
            await view.ask(event.permission)


async def _ask(view: View, lines: int) -> None:
    reply = await view.ask(question(lines))
    view.say(f"{reply.decision} {reply.command} {reply.note}", "note")


async def _flood(view: View) -> None:
    for number in range(_DELTAS):
        view.show(MessageDelta("flood", f"word {number} " + ("\n\n" if number % 40 == 39 else "")))
        if number % 20 == 0:
            await asyncio.sleep(0)


async def _choose(view: View) -> None:
    view.say(f"chosen: {await view.choose('Which one?', [Choice(str(n), f'item {n}', 'of many') for n in range(30)])}")


async def _aside(view: View) -> None:
    command = ("sh", "-c", "echo somebody else; read line; exit 3")
    view.say(f"exit code {await view.aside(lambda: subprocess.run(command, check=False).returncode)}")


_ACTS: dict[str, Callable[[View], Coroutine[Any, Any, None]]] = {
    "ask": lambda view: _ask(view, 2),
    "ask much": lambda view: _ask(view, 60),
    "flood": _flood,
    "choose": _choose,
    "aside": _aside,
}


async def _perform(view: View) -> Ended:
    running: set[asyncio.Task[None]] = set()
    standing = Standing("offline", "small", "ada", "auto", 3, (4200, 128_000))
    view.stand(standing)
    while not isinstance(entered := await view.read(), Ended):
        if isinstance(entered, Interrupted):
            view.say(f"interrupted, {entered.draft!r} was typed", "note")
            for task in running:
                task.cancel()
            continue
        view.echo(entered.text)
        if entered.text.startswith("wear "):
            view.wear(entered.text.removeprefix("wear "))
        elif (act := _ACTS.get(entered.text)) or entered.text in _NAMES:
            task = asyncio.create_task(act(view) if act else _play(view, entered.text))
            running.add(task)
            task.add_done_callback(running.discard)
        else:
            view.say(f"{'steered' if entered.steers else 'entered'}: {len(entered.text)}", "note")
    return entered


async def main(kind: Kind) -> None:
    readable = "SCREEN_READER" in os.environ
    async with open_view(kind, Words(), os.environ, screen_reader=readable, vi="VI" in os.environ) as view:
        ended = await _perform(view)
    report = f"ended, {ended.draft!r} was typed\n"
    Path(os.environ["REPORT"]).write_text(report, encoding="utf-8") if "REPORT" in os.environ else print(report)


if __name__ == "__main__":
    asyncio.run(main(cast("Kind", sys.argv[1])))
