"""The OpenAI chat-completions wire API, as OpenAI and the many vendors that follow it speak it."""

from collections.abc import AsyncGenerator, Sequence

from marvin_server.providers import answers
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.openai_body import encode
from marvin_server.providers.openai_reply import Reply
from marvin_server.providers.transport import Transport


class OpenAIChat:
    """A provider for one model of one vendor.

    ``endpoint.url`` is a base URL or the full address that ends in ``/chat/completions``; ``quirks`` are
    those of ``Vendor``.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        endpoint: Endpoint,
        transport: Transport,
        quirks: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.model = model
        self._endpoint = endpoint
        self._url = answers.address(endpoint.url, "/chat/completions")
        self._transport = transport
        self._quirks = quirks

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``."""
        headers = {**answers.HEADERS, **self._endpoint.bearer}
        body = encode(request, provider=self.name, model=self.model, quirks=self._quirks)
        reply = Reply(self.name, self.model, answers.taken_ids(request.history), self._quirks)
        posted = self._transport.post(self._url, headers, body)
        return answers.stream(posted, self._endpoint, reply, field="choices", glance=reply.glance)

    async def connect(self) -> None:
        """See ``Provider``."""
        await self._transport.connect(self._url)

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        await self._transport.aclose()
