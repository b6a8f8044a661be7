"""Records what passes between a provider and its vendor, without changing or delaying what the provider reads."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from marvin_server.errors import BadRequest, ProviderError
from marvin_server.providers import content_coding, faults
from marvin_server.providers.failures import Endpoint, host_of
from marvin_server.providers.recording import Answered, Asked, Chunk, Ending, Failure, Recorded, Speaker, Tape
from marvin_server.providers.redaction import Redaction
from marvin_server.providers.transport import Client, Exchange
from marvin_server.settings import Settings

_KEPT_HEADERS = ("content-type", "location", "retry-after")

_log = logging.getLogger("marvin.recording")


def recorder(
    tape: Tape, settings: Settings, endpoint: Endpoint, wire_api: str, options: Mapping[str, Any]
) -> Callable[[Client], Client]:
    """What a ``Transport`` has to put around its clients, so that their exchanges are added to the recording ``tape``.

    ``options`` are what the provider is made with beside ``endpoint`` and transport.
    """
    login = urlsplit(endpoint.url).netloc.rpartition("@")[0]
    secrets = (*settings.secrets(), endpoint.key or "", *(unquote(part) for part in login.split(":", 1)))
    redaction = Redaction(secrets)
    speaker = Speaker(
        wire_api, endpoint.title, redaction.url(endpoint.url), endpoint.check_key, endpoint.check_url, options
    )
    return partial(Recorder, tape=tape, speaker=speaker, redaction=redaction)


class Recorder:
    """See ``transport.Client``. A request is refused once the recording cannot be written any more."""

    def __init__(self, client: Client, *, tape: Tape, speaker: Speaker, redaction: Redaction) -> None:
        self._client = client
        self._tape = tape
        self._speaker = speaker
        self._redaction = redaction
        self._broken: OSError | None = None

    async def connect(self, url: str) -> None:
        """See ``transport.Client``."""
        await self._client.connect(url)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> "Tee":
        """See ``transport.Client``."""
        if self._broken:
            raise BadRequest(f"--record {self._tape.path}: {self._broken.strerror}; the request was not sent")
        clean = self._redaction
        asked = Asked("POST", clean.url(url), clean.headers(headers), clean.value(msgspec.json.decode(body)))
        started = time.monotonic()
        try:
            exchange = await self._client.send(url, headers, body)
        except ProviderError as error:
            await self.write(asked, None, "error", error)
            raise
        except asyncio.CancelledError:
            await self.write(asked, None, "silent")
            raise
        return Tee(exchange, self, asked, host_of(url), started)

    async def aclose(self) -> None:
        """See ``transport.Client``."""
        await self._client.aclose()

    async def write(
        self, asked: Asked, answered: Answered | None, ended: Ending, error: ProviderError | None = None
    ) -> None:
        """Add an exchange to the recording; it is on disk when this returns, or no other will be sent."""
        if answered:
            answered = self._without_secrets(answered)
        failure = Failure(type(error).__name__, self._redaction.text(str(error))) if error else None
        recorded = Recorded(1, self._speaker, asked, answered, ended, failure)
        try:
            # What is cancelled now is the request, not the line about it.
            await asyncio.shield(asyncio.to_thread(self._tape.write, recorded))
        except OSError as broken:
            _log.warning("the recording %s cannot be written: %s", self._tape.path, broken)
            self._broken = broken

    def _without_secrets(self, answered: Answered) -> Answered:
        headers = {
            name: self._redaction.url(value) if name == "location" else self._redaction.text(value)
            for name, value in answered.headers.items()
        }
        pieces = self._redaction.chunks(chunk.content for chunk in answered.chunks)
        chunks = tuple(_chunk(chunk.ms, piece) for chunk, piece in zip(answered.chunks, pieces, strict=True))
        return msgspec.structs.replace(answered, headers=headers, chunks=chunks)


class Tee:
    """See ``transport.Exchange``. It is written down when it is over."""

    def __init__(self, exchange: Exchange, recorder: Recorder, asked: Asked, host: str, started: float) -> None:
        self.status = exchange.status
        self.headers = exchange.headers
        self._exchange = exchange
        self._recorder = recorder
        self._asked = asked
        self._host = host
        self._started = started
        self._head_ms = self._ms()
        self._read: list[tuple[int, bytes]] = []
        self._ended: Ending = "left"
        self._error: ProviderError | None = None

    async def read(self) -> bytes:
        """See ``transport.Exchange``."""
        try:
            chunk = await self._exchange.read()
        except asyncio.CancelledError:
            self._ended = "silent"
            raise
        except ProviderError as error:
            self._ended, self._error = "error", error
            raise
        if chunk:
            self._read.append((self._ms(), chunk))
        else:
            self._ended = "whole"
        return chunk

    async def aclose(self) -> None:
        """See ``transport.Exchange``."""
        await self._exchange.aclose()
        headers = {name: self.headers[name] for name in _KEPT_HEADERS if name in self.headers}
        coding = self.headers.get("content-encoding", "")
        try:
            chunks = self._unpacked(coding)
        except LookupError:
            headers["content-encoding"] = coding
            chunks = self._read
        answered = Answered(self.status, headers, self._head_ms, tuple(_chunk(*chunk) for chunk in chunks))
        await self._recorder.write(self._asked, answered, self._ended, self._error)

    def _unpacked(self, coding: str) -> list[tuple[int, bytes]]:
        """What was read, decompressed as the reader had it. Raises ``LookupError`` for a coding that is not known."""
        decoder = content_coding.decoder(coding)
        if decoder is None:
            return self._read
        chunks: list[tuple[int, bytes]] = []
        try:
            for ms, packed in self._read:
                if unpacked := decoder.feed(packed):
                    chunks.append((ms, unpacked))
            if self._ended == "whole":
                decoder.close()
        except ValueError as error:
            self._ended, self._error = "error", faults.broken(self._host, error)
        return chunks

    def _ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


def _chunk(ms: int, content: bytes) -> Chunk:
    try:
        return Chunk(ms, text=content.decode())
    except UnicodeDecodeError:
        return Chunk(ms, base64=content)
