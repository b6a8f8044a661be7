"""What of a tool's result goes into the conversation, so that none fills the model's context by itself."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server import tokens
from marvin_server.agent.budget import Budget
from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolOutput

# read_file says so first when it gives a range of lines.
_RANGE = re.compile(r"\[lines (\d+)-(\d+) of ((?:at least )?\d+)\]\n")
_SHORT = 2_000  # characters of which it is worth having a part of a file
_NEXT = 50  # lines


class _Lines(Struct, frozen=True):
    """What read_file has given of ``path``: lines from ``first`` on, of ``total``."""

    path: str
    first: int
    total: str

    def call(self, first: int) -> str:
        """How to read on from line ``first``."""
        arguments = {"path": self.path, "start_line": first, "end_line": first + _NEXT - 1}
        return f"read_file({json.dumps(arguments, ensure_ascii=False)})"


class Admission:
    """Lets results into the conversation whose ``budget`` this is.

    Past the warning threshold a result is cut, but for a small share that each may have; at the limit none has any
    room. read_file has a limit of its own, in characters. ``dump`` keeps a text in the file of a name and gives its
    path, None where it cannot.
    """

    def __init__(self, budget: Budget, dump: Callable[[str, str], Awaitable[str | None]]) -> None:
        self._budget = budget
        self._dump = dump

    async def __call__(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """``output`` as the conversation has room for it."""
        lines = _lines(call, output)
        if lines is not None:
            output = await self._read(lines, output)
        output = self._fitted(output, lines if output.status == "ok" else None)
        self._budget.add(tokens.estimate(output.text) + tokens.of_image() * len(output.images))
        if self._budget.used <= self._budget.window.warn:
            return output
        warning = (
            f"[Context: about {self._budget.used:,} of {self._budget.window.context:,} tokens are used. Read small "
            "ranges only, finish what you are at, or call compact_history.]"
        )
        return replace(output, text=f"{output.text}\n{warning}")

    async def _read(self, lines: _Lines, output: ToolOutput) -> ToolOutput:
        """Keep to what read_file may give in all."""
        budget, window = self._budget, self._budget.window
        left = window.read_most - budget.read
        if len(output.text) > left and left < _SHORT:
            kept = await self._dump(PurePosixPath(lines.path).name, output.text)
            where = f" What this call read is kept in {kept}." if kept else ""
            return ToolOutput(
                f"Error: read_file has given {budget.read:,} characters since the conversation began or was last "
                f"summarised, which is all it may ({window.read_most:,}).{where} Find the place with code_grep and "
                f"read a few lines of it, such as {lines.call(lines.first)}, or call compact_history first.",
                "error",
            )
        if len(output.text) > left:
            output = replace(output, text=_cut_file(output.text, left, lines))
        budget.read += len(output.text)
        if budget.read <= window.read_warn:
            return output
        note = f"[read_file has given {budget.read:,} of {window.read_most:,} characters: read small ranges only.]"
        return replace(output, text=f"{output.text}\n{note}")

    def _fitted(self, output: ToolOutput, lines: _Lines | None) -> ToolOutput:
        """Keep to the room in the model's context."""
        budget, window = self._budget, self._budget.window
        room = min(max(window.warn - budget.used, window.least), window.reject - budget.used)
        count = len(output.images)
        needed = budget.corrected(tokens.estimate(output.text))
        if count and needed + budget.corrected(tokens.of_image() * count) > room:
            note = f"[left out for want of room in the context: {'a picture' if count == 1 else f'{count} pictures'}]"
            output = replace(output, text=f"{output.text}\n{note}".lstrip(), images=())
            needed = budget.corrected(tokens.estimate(output.text))
        if needed <= room or not output.text:
            return output
        if room <= 0:
            return ToolOutput(_no_room(lines, output.text, budget), "error")
        length = len(output.text)
        while needed > room:
            length = length * room // needed
            needed = budget.corrected(tokens.estimate(output.text[:length]))
        if lines is not None:
            return replace(output, text=_cut_file(output.text, length, lines))
        omitted = len(output.text) - length
        return replace(
            output,
            text=f"{output.text[:length]}\n[Result truncated — {omitted:,} characters omitted, since the context is "
            "nearly full. Ask for less, with a more specific query.]",
        )


def _no_room(lines: _Lines | None, text: str, budget: Budget) -> str:
    full = f"{budget.used:,} of {budget.window.context:,} tokens"
    if lines is None:
        return (
            f"Error: Context budget exhausted (about {full}). Call compact_history to free space, or ask the person to "
            "begin a new session."
        )
    return (
        f"Error: there is no room for {text.count(chr(10)) + 1:,} lines of '{lines.path}', which has {lines.total} in "
        f"all: the context is full (about {full}). Call compact_history, then read a small range, such as "
        f"{lines.call(lines.first)}"
    )


def _cut_file(text: str, length: int, lines: _Lines) -> str:
    """The whole lines among the first ``length`` characters, and how to read on."""
    heading = match.end() if (match := _RANGE.match(text)) else 0
    end = text.rfind("\n", heading, length) + 1
    if not end:
        where = f"within line {lines.first:,} of {lines.total}, for want of room in the context"
        return f"{text[:length]}\n[Cut here, {where}. code_grep finds what else is in it.]"
    shown = text[:end]
    following = lines.first + text.count("\n", heading, end)
    return (
        f"{shown}[Cut here, before line {following:,} of {lines.total}, for want of room in the context. Read on in "
        f"small ranges: {lines.call(following)}]"
    )


def _lines(call: ToolCall, output: ToolOutput) -> _Lines | None:
    """What the result of a read_file of text has; None for all else."""
    if call.name != "read_file" or output.status != "ok" or output.images:
        return None
    try:
        arguments: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    path = arguments.get("path") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(path, str):
        return None
    if match := _RANGE.match(output.text):
        return _Lines(path, int(match[1]), match[3])
    return _Lines(path, 1, str(output.text.count("\n") + 1))
