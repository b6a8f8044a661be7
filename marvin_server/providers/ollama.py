"""Ollama's own wire API, ``/api/chat``: models that run on the person's machine, or on one that they name."""

import re
from collections.abc import AsyncGenerator, Container, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from marvin_server.errors import BadRequest, Interrupted, Unreachable
from marvin_server.events import MessageFinished
from marvin_server.providers import failures
from marvin_server.providers.base import Effort, ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint, host_of
from marvin_server.providers.ollama_body import Think, encode
from marvin_server.providers.ollama_reply import Lines, Reply
from marvin_server.providers.transport import Response, Transport, is_loopback
from marvin_server.providers.wire_json import dump, fields, load

_ERROR_BYTES = 64_000
_SHOW_BYTES = 4_000_000
_LARGEST_CONTEXT = 32_768


class Ollama:
    """A provider for one model of one server. ``endpoint.url`` is its base URL; there are no ``quirks``.

    Ollama runs a model with a context of 4,096 tokens unless told otherwise, which is less than a system prompt with
    its tools. So the model's own size is asked for once, and the model run with it, up to 32,768: the memory that it
    takes grows with the size. A size that the person put into the model's parameters stands.
    """

    def __init__(
        self, *, name: str, model: str, endpoint: Endpoint, transport: Transport, quirks: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.model = model
        self._endpoint = endpoint
        self._base = endpoint.url.rstrip("/")
        self._transport = transport
        self._shown: dict[str, Any] | None = None
        self._thinks = True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``. A model that cannot think is asked again without."""
        if self._shown is None:
            self._shown = await self._show()
        think = _think(request.effort, self._shown) if self._thinks else None
        context = _context(self._shown)
        body = encode(request, provider=self.name, model=self.model, context=context, think=think)
        taken_ids = {call.id for message in request.history for call in message.tool_calls}
        async with self._post("/api/chat", body) as response:
            if response.status == 200:
                async with aclosing(self._read(response, taken_ids)) as events:
                    async for event in events:
                        yield event
                return
            refusal = await response.read_start(_ERROR_BYTES)
        if think is None or b"does not support thinking" not in refusal:
            raise self._refused(response, refusal)
        self._thinks = False
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                yield event

    async def connect(self) -> None:
        """See ``Provider``."""
        await self._transport.connect(self._base)

    async def aclose(self) -> None:
        """Close what is kept open between requests."""
        await self._transport.aclose()

    @asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[Response]:
        headers = {"content-type": "application/json"}
        headers.update(self._endpoint.bearer)
        try:
            async with self._transport.post(self._base + path, headers, body) as response:
                yield response
        except Unreachable as error:
            shown = urlsplit(self._base)._replace(netloc=host_of(self._base)).geturl()
            why = "" if is_loopback(self._base) else f" ({error})"
            raise Unreachable(
                f"Cannot connect to Ollama at {shown}. Is Ollama running? Start with: ollama serve{why}"
            ) from error

    async def _show(self) -> dict[str, Any]:
        """What the server knows of the model; empty where it does not tell, and the chat request says why.

        Format: https://github.com/ollama/ollama/blob/main/docs/api.md#show-model-information.
        """
        async with self._post("/api/show", dump({"model": self.model})) as response:
            text = await response.read_start(_SHOW_BYTES)
            try:
                return fields(load(text.decode("utf-8", "replace"))) if response.status == 200 else {}
            except ValueError:
                return {}

    async def _read(self, response: Response, taken_ids: Container[str]) -> AsyncGenerator[StreamEvent]:
        reply, lines = Reply(), Lines()
        while not reply.finished and (chunk := await response.read()):
            for line in lines.feed(chunk):
                for delta in reply.read(self._object(line, response)):
                    yield delta
        if not reply.finished and (rest := lines.rest()).startswith((b"<", b"{")):
            for delta in reply.read(self._object(rest, response, cut=True)):
                yield delta
        if not reply.finished:
            raise self._cut_off()
        yield MessageFinished(reply.message(self.name, self.model, taken_ids))

    def _object(self, line: bytes, response: Response, *, cut: bool = False) -> dict[str, Any]:
        """The object on a line; ``cut`` says that the line lacks its end. Raises the error that it may report."""
        text = line.decode("utf-8", "replace")
        try:
            value = fields(load(text))
        except ValueError:
            if text.startswith("<"):
                raise failures.not_an_answer(self._endpoint, response.status, response.headers, text) from None
            raise self._cut_off() if cut else failures.garbled(self._endpoint, text) from None
        if error := value.get("error"):
            raise failures.reported(self._endpoint, error)
        if "message" not in value and "done" not in value:
            raise failures.not_an_answer(self._endpoint, response.status, response.headers, text)
        return value

    def _cut_off(self) -> Interrupted:
        return Interrupted(f"{self._endpoint.title} ({self._endpoint.host}) ended its answer before it was whole")

    def _refused(self, response: Response, body: bytes) -> Exception:
        text = body.decode("utf-8", "replace")
        if "does not support tools" in text:
            return BadRequest(
                f"{self.model} cannot use tools, and without them Marvin can do nothing; take a model that can, such "
                "as qwen3-coder:30b (more: https://ollama.com/search?c=tools)",
                status=response.status,
            )
        if response.status == 404 and re.search(r"model.*not found", text):
            return BadRequest(
                f"Ollama ({self._endpoint.host}) has no model {self.model}; get it with: ollama pull {self.model}",
                status=404,
            )
        return failures.refused(self._endpoint, response.status, response.headers, body)


def _think(effort: Effort | None, shown: dict[str, Any]) -> Think | None:
    """``think`` for an effort. Only gpt-oss knows degrees; to any other model a degree would be an error."""
    if effort is None:
        return None
    has_degrees = fields(shown.get("details")).get("family") in ("gptoss", "gpt-oss")
    return effort if has_degrees and effort != "none" else effort != "none"


def _context(shown: dict[str, Any]) -> int | None:
    """The context to run the model with, in tokens; None where the person chose it, or nothing is known."""
    if re.search(r"^num_ctx\b", str(shown.get("parameters") or ""), re.MULTILINE):
        return None
    facts = fields(shown.get("model_info"))
    size = facts.get(f"{facts.get('general.architecture')}.context_length")
    return min(size, _LARGEST_CONTEXT) if isinstance(size, int) and size > 0 else None
