"""How much of a model's context a conversation fills, and how much more of it there is room for."""

from collections.abc import Sequence

from msgspec import Struct

from marvin_server import tokens
from marvin_server.messages import Image, Message, ToolCall, ToolResult, ToolSpec
from marvin_server.providers.base import ModelRequest

UNKNOWN_CONTEXT = 128_000
# The reference's thresholds, in thousands of tokens, are for a window of 228 thousand; those of read_file are
# thousands of characters.
_WINDOW, _WARN, _COMPACT, _REJECT = 228, 180, 200, 226
_READ_WARN, _READ_MOST = 200, 300
_ROLE = 4  # tokens around a message


class Window(Struct, frozen=True):
    """A model's context in tokens, of which ``output`` must stay free for an answer: vendors that are told how long an
    answer may be count that in."""

    context: int = UNKNOWN_CONTEXT
    output: int = 0

    @property
    def usable(self) -> int:
        """What a request may fill; at least half, however long an answer might be."""
        return max(self.context - self.output, self.context // 2)

    @property
    def warn(self) -> int:
        """From here on the model is told."""
        return self.usable * _WARN // _WINDOW

    @property
    def compact(self) -> int:
        """A request that would be larger is made smaller first."""
        return self.usable * _COMPACT // _WINDOW

    @property
    def reject(self) -> int:
        """Nothing is added to a request of this size."""
        return self.usable * _REJECT // _WINDOW

    @property
    def least(self) -> int:
        """What one tool result may always have, up to ``reject``."""
        return self.usable // 64

    @property
    def read_warn(self) -> int:
        """Characters of read_file, after which the model is told."""
        return self.usable * _READ_WARN // _WINDOW

    @property
    def read_most(self) -> int:
        """Characters of read_file that a conversation holds at most."""
        return self.usable * _READ_MOST // _WINDOW


def message_tokens(message: Message) -> int:
    """About how many tokens the message takes in a request."""
    count = _ROLE + (tokens.estimate(repr(message.vendor)) if message.vendor else 0)
    for part in message.parts:
        match part:
            case ToolCall():
                count += _ROLE + tokens.estimate(part.name) + tokens.estimate(part.arguments)
            case ToolResult():
                count += _ROLE + tokens.estimate(part.text) + tokens.of_image() * len(part.images)
            case Image():
                count += tokens.of_image()
            case _:
                count += tokens.estimate(part.text)
    return count


def tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """About how many tokens the descriptions of ``tools`` take in a request."""
    from json import dumps

    return sum(tokens.estimate(tool.name + tool.description + dumps(dict(tool.parameters))) for tool in tools)


class Budget:
    """The budget of one session. ``used`` is what the latest request had and what has come since, in tokens as its
    model counts them; ``read`` are the characters that read_file has given since the latest compaction.

    Each message is counted once, and known by its id from then on.
    """

    def __init__(self) -> None:
        self.window = Window()
        self.used = 0
        self.read = 0
        self._model = ""
        self._estimated = 0
        self._calibration = tokens.Calibration()
        self._counted: dict[str, int] = {}
        self._fixed: tuple[str, Sequence[ToolSpec], int] = ("", (), 0)
        self._narrowed: dict[str, int] = {}

    def window_of(self, model: str, context: int | None, output: int | None) -> Window:
        """The window of ``model``, whose sizes are in tokens, None where unknown; no more than it is known to read."""
        known = context or UNKNOWN_CONTEXT
        return Window(min(known, self._narrowed.get(model, known)), output or 0)

    def measure(self, request: ModelRequest, model: str, context: int | None, output: int | None) -> None:
        """Take note of a request that is to go to ``model``, whose sizes are in tokens, None where unknown."""
        self.window = self.window_of(model, context, output)
        self._model = model
        self._estimated = self._around(request.system, request.tools) + sum(map(self.tokens, request.history))
        self.used = self.corrected(self._estimated)

    def answered(self, message: Message) -> None:
        """Take note of the answer to the request that was measured last."""
        if message.usage:
            self._calibration.learn(self._model, self._estimated, message.usage.input)
        self.used = self.corrected(self._estimated + self.tokens(message))

    def overflowed(self) -> None:
        """The vendor has said that the request which was measured last is too long for its model: from now on less
        than that counts as all it reads."""
        self._narrowed[self._model] = min(self.window.context, self.used + self.window.output) * 3 // 4

    def add(self, estimated: int) -> None:
        """Count what is added after the answer."""
        self.used += self.corrected(estimated)

    def tokens(self, message: Message) -> int:
        """``message_tokens`` of it; not corrected."""
        count = self._counted.get(message.id)
        if count is None:
            count = self._counted[message.id] = message_tokens(message)
        return count

    def corrected(self, estimated: int) -> int:
        """An estimate as the model that was asked last would count it."""
        return self._calibration.corrected(self._model, estimated)

    def restart(self, gone: Sequence[Message]) -> None:
        """Forget the messages that a compaction has taken out of view; what was read before is out of view, too."""
        self.read = 0
        for message in gone:
            self._counted.pop(message.id, None)

    def _around(self, system: str, tools: Sequence[ToolSpec]) -> int:
        if self._fixed[:2] != (system, tools):
            self._fixed = (system, tools, tokens.estimate(system) + tool_tokens(tools))
        return self._fixed[2]
