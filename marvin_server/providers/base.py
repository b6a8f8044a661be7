"""The contract that every provider keeps."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from marvin_server.events import MessageDelta, MessageFinished, Notice, ThoughtDelta, ThoughtFinished
from marvin_server.messages import Message, ToolSpec
from marvin_server.settings import Effort

StreamEvent = MessageDelta | ThoughtDelta | ThoughtFinished | Notice | MessageFinished


class ModelRequest(Struct, frozen=True):
    """One round's question: the system prompt, the whole history, and the tools that may be called.

    With ``output_schema`` (a JSON Schema) the provider asks its vendor for that shape where the vendor can. ``effort``
    is how much the model shall think, where it can; None leaves that to the vendor. ``stable`` is how many characters
    of ``system``, from its start, the next request will mostly begin with, too; None: all of them.
    """

    system: str
    history: Sequence[Message]
    tools: Sequence[ToolSpec]
    output_schema: Mapping[str, Any] | None = None
    effort: Effort | None = None
    stable: int | None = None


class Provider(Protocol):
    """A language model behind one wire API.

    ``stream`` is an async generator: it yields deltas as they arrive and exactly one ``MessageFinished``, its last
    event, whose message has role ``assistant``, every delta's text in its parts, ``usage`` where the vendor told it,
    and unique, non-empty tool call ids. It raises ``ProviderError`` and nothing else. Closing the generator closes
    the connection at once. The caller keeps the text of the deltas that came before an error or a close.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]: ...

    async def connect(self) -> None:
        """Open what the first request will need, ahead of it. A failure is left for that to report."""
        ...

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        ...
