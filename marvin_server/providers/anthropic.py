"""The Anthropic messages wire API, as Anthropic and the servers that follow it speak it."""

from collections.abc import AsyncGenerator, Sequence
from urllib.parse import urlsplit

from marvin_server.providers import answers
from marvin_server.providers.anthropic_body import Thinking, encode
from marvin_server.providers.anthropic_reply import Reply
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.transport import Transport


class Anthropic:
    """A provider for one model of one vendor.

    ``endpoint.url`` is a base URL, with or without its ``/v1``, or the full address that ends in ``/v1/messages``.
    ``max_output`` bounds an answer, in tokens, its thoughts included. ``thinking`` is how the model is asked to think;
    one without it is never asked. ``quirks`` are those of ``Vendor``.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        endpoint: Endpoint,
        transport: Transport,
        quirks: Sequence[str] = (),
        max_output: int = 8192,
        thinking: Thinking | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self._endpoint = endpoint
        has_version = urlsplit(endpoint.url).path.rstrip("/").endswith(("/v1", "/messages"))
        self._url = answers.address(endpoint.url, "/messages" if has_version else "/v1/messages")
        self._transport = transport
        self._quirks = quirks
        self._max_output = max_output
        self._thinking: Thinking | None = thinking

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``."""
        headers = {**answers.HEADERS, "anthropic-version": "2023-06-01"}
        if self._endpoint.key:
            headers[self._endpoint.key_header or "x-api-key"] = self._endpoint.key
        body, fingerprint = encode(
            request,
            provider=self.name,
            model=self.model,
            max_output=self._max_output,
            thinking=self._thinking,
            quirks=self._quirks,
        )
        reply = Reply(self.name, self.model, answers.taken_ids(request.history), fingerprint)
        return answers.stream(self._transport.post(self._url, headers, body), self._endpoint, reply, field="content")

    async def connect(self) -> None:
        """See ``Provider``."""
        await self._transport.connect(self._url)

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        await self._transport.aclose()
