"""The OpenAI responses wire API, for the models that are not, or not with tools, on chat completions."""

from collections.abc import AsyncGenerator, Sequence
from urllib.parse import urlsplit

from marvin_server.providers import answers
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.openai_responses_body import encode
from marvin_server.providers.openai_responses_reply import Reply
from marvin_server.providers.transport import Transport


class OpenAIResponses:
    """A provider for one model of one vendor. Nothing is stored with the vendor.

    ``endpoint.url`` is a base URL, or the full address of its ``/responses`` or ``/chat/completions``; ``quirks`` are
    those of ``Vendor``.
    """

    def __init__(
        self, *, name: str, model: str, endpoint: Endpoint, transport: Transport, quirks: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.model = model
        self._endpoint = endpoint
        parts = urlsplit(endpoint.url)
        base = parts._replace(path=parts.path.rstrip("/").removesuffix("/chat/completions")).geturl()
        self._url = answers.address(base, "/responses")
        self._transport = transport
        self._quirks = quirks

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``."""
        headers = {**answers.HEADERS, **self._endpoint.bearer}
        body = encode(request, provider=self.name, model=self.model, quirks=self._quirks)
        reply = Reply(self.name, self.model, answers.taken_ids(request.history))
        return answers.stream(self._transport.post(self._url, headers, body), self._endpoint, reply, field="output")

    async def connect(self) -> None:
        """See ``Provider``."""
        await self._transport.connect(self._url)

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        await self._transport.aclose()
