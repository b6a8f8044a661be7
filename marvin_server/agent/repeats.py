"""Stops a call that says the same thing over and over."""

from marvin_server.messages import ToolCall
from marvin_server.tools.base import ToolOutput

_MOST = 3


class Repeats:
    """How often the latest call of a turn has been made in a row, with one and the same result."""

    def __init__(self) -> None:
        self._latest: tuple[str, str, ToolOutput] | None = None
        self._count = 0

    def stopped(self, call: ToolCall) -> ToolOutput | None:
        """What to answer in place of running ``call`` once more, None while it may run."""
        if self._count < _MOST or self._latest is None or self._latest[:2] != (call.name, call.arguments):
            return None
        return ToolOutput(
            f"Not run: this very call has given the same result {_MOST} times in a row. Use that result, change the "
            "call, or tell the person what stands in the way.",
            "error",
        )

    def add(self, call: ToolCall, output: ToolOutput) -> None:
        """Take note of what ``call``, which has run, has given."""
        made = (call.name, call.arguments, output)
        self._count = self._count + 1 if made == self._latest else 1
        self._latest = made
