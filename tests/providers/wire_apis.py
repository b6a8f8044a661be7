"""The wire APIs under test: how each is asked, what a server answers in, and what its vendor publishes of it."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from marvin_server.events import MessageDelta, MessageFinished
from marvin_server.messages import Message, Text, ToolCall, ToolResult, ToolSpec, user_message
from marvin_server.providers.anthropic import Anthropic
from marvin_server.providers.base import ModelRequest, Provider, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.ollama import Ollama
from marvin_server.providers.openai_chat import OpenAIChat
from marvin_server.providers.openai_responses import OpenAIResponses
from marvin_server.providers.transport import Transport
from tests.patience import SECONDS
from tests.providers.published_types import check_anthropic, check_ollama, check_openai_chat, check_openai_responses
from tests.servers import anthropic_wire, ollama_wire, openai_wire, responses_wire
from tests.servers.model_server import ModelServer
from tests.servers.reply import GREETING, Said, Scenario, Wire

HELLO = Text(GREETING.text)
READ = ToolCall("call_1", "read_file", '{"path": "README.md"}')
GREP = ToolCall("call_2", "code_grep", '{"pattern": "marvin"}')
FOUND = Message("tool", (ToolResult("call_1", "read_file", "# Marvin"),))
TOOLS = [ToolSpec("read_file", "Read a file.", {"type": "object"})]
ASK = ModelRequest("Be brief.\n\nToday.", [user_message("hi")], TOOLS)


@dataclass(frozen=True, slots=True)
class WireApi:
    """One wire API; ``first`` is the number of the request, counted from 1, that is the first to ask the model.

    ``options`` are those of ``connected``, whose own go to the provider.
    """

    name: str
    create: Callable[..., Provider]
    format: Wire
    check: Callable[[Any], None]
    first: int = 1

    @asynccontextmanager
    async def connected(
        self,
        url: str,
        *,
        key: str | None = "sk-secret",
        request_timeout: float = SECONDS,
        stall_timeout: float = SECONDS,
        **options: Any,
    ) -> AsyncGenerator[Provider]:
        """A provider of the vendor "acme", with the model "acme-1", for the server at ``url``."""
        provider = self.create(
            **{"name": "acme", "model": "acme-1", **options},
            endpoint=Endpoint("Acme", url, key, check_key="ACME_KEY", check_url="ACME_URL"),
            transport=Transport(request_timeout=request_timeout, stall_timeout=stall_timeout),
        )
        try:
            yield provider
        finally:
            await provider.aclose()

    def events(self, said: Said = GREETING) -> tuple[bytes, ...]:
        """``said`` as the events of a stream."""
        return tuple(self.format.events(said, {"stream": True}))

    async def heard(self, scenario: Scenario | str, request: ModelRequest = ASK, **options: Any) -> list[StreamEvent]:
        """What the provider yields when the server plays ``scenario``."""
        async with ModelServer(scenario) as server, self.connected(server.url, **options) as provider:
            return await ask(provider, request)

    async def message(self, scenario: Scenario | str, request: ModelRequest = ASK, **options: Any) -> Message:
        """The message that comes of ``scenario``."""
        return message_of(await self.heard(scenario, request, **options))

    async def sent(self, request: ModelRequest, **options: Any) -> Any:
        """The body that is sent for ``request``."""
        async with ModelServer() as server, self.connected(server.url, **options) as provider:
            await ask(provider, request)
            return server.requests[-1].json

    async def body(self, request: ModelRequest, **options: Any) -> Any:
        """The body that is sent for ``request``; it is exactly what the vendor publishes."""
        body = await self.sent(request, **options)
        self.check(body)
        return body


async def ask(provider: Provider, request: ModelRequest = ASK) -> list[StreamEvent]:
    """All that the provider yields."""
    return [event async for event in provider.stream(request)]


def message_of(events: Iterable[StreamEvent]) -> Message:
    """The message at the end of ``events``: the only one, with the text of the deltas before it."""
    *deltas, last = events
    assert isinstance(last, MessageFinished)
    assert not any(isinstance(event, MessageFinished) for event in deltas)
    assert "".join(event.text for event in deltas if isinstance(event, MessageDelta)) == last.message.text
    return last.message


OPENAI_CHAT = WireApi("openai_chat", OpenAIChat, openai_wire.WIRE, check_openai_chat)
OPENAI_RESPONSES = WireApi("openai_responses", OpenAIResponses, responses_wire.WIRE, check_openai_responses)
ANTHROPIC = WireApi("anthropic", Anthropic, anthropic_wire.WIRE, check_anthropic)
# Ollama is first asked about the model.
OLLAMA = WireApi("ollama", Ollama, ollama_wire.WIRE, check_ollama, first=2)
WIRE_APIS: Mapping[str, WireApi] = {each.name: each for each in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, OLLAMA)}
