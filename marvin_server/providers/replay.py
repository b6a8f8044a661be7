"""Plays a recording through the providers that made it, without a network."""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from marvin_server.errors import BadRequest, Interrupted, ProviderError, TimedOut, Unreachable, UsageError
from marvin_server.events import MessageFinished, Notice
from marvin_server.providers import recording
from marvin_server.providers.base import ModelRequest, Provider, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.recording import Answered, Failure, Recorded, Speaker
from marvin_server.providers.replay_match import difference, gist
from marvin_server.providers.transport import Transport
from marvin_server.providers.vendor_files import WIRE_APIS
from marvin_server.settings import Settings

_REQUEST_SECONDS = 180.0


def providers(settings: Settings) -> tuple["Replay", ...]:
    """The providers of the recording that ``--model`` or ``MARVIN_REPLAY`` names, in the order in which they came in.

    ``MARVIN_REPLAY_MATCH`` is ``exact`` or ``loose``; with ``MARVIN_REPLAY_TIMING=recorded`` each part of an answer
    comes as late as it did. Raises ``UsageError``.
    """
    environ = settings.environ
    named = settings.model or environ.get("MARVIN_REPLAY", "").strip()
    if not named:
        raise UsageError("the provider replay needs a recording: name one with --model or MARVIN_REPLAY")
    loosely = _is(environ, "MARVIN_REPLAY_MATCH", "loose", usual="exact")
    timed = _is(environ, "MARVIN_REPLAY_TIMING", "recorded", usual="none")
    spoken: list[tuple[Speaker, list[Recorded]]] = []
    for line in recording.read(Path(named).expanduser().absolute()):
        lines = next((lines for speaker, lines in spoken if speaker.options == line.provider.options), None)
        if lines is None:
            spoken.append((line.provider, lines := []))
        lines.append(line)
    return tuple(_replay(speaker, Player(lines, loosely=loosely, timed=timed), settings) for speaker, lines in spoken)


class Replay:
    """One recorded provider: the class that spoke to the vendor, with a ``Player`` where the vendor was."""

    def __init__(self, provider: Provider, player: "Player") -> None:
        self.name = provider.name
        self.model = provider.model
        self._provider = provider
        self._player = player

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``. A message without tool calls ends a turn: what is left unplayed by then is told."""
        try:
            async with aclosing(self._provider.stream(request)) as events:
                async for event in events:
                    left = self._player.left
                    if left and isinstance(event, MessageFinished) and not event.message.tool_calls:
                        yield Notice("note", f"{left} recorded exchange{'s' * (left > 1)} with {self.name} not played")
                    yield event
        except ProviderError as error:
            error.past = not self._player.timed
            raise

    async def connect(self) -> None:
        """There is nothing to connect to."""

    async def aclose(self) -> None:
        """See ``Provider``."""
        await self._provider.aclose()


class Player:
    """See ``transport.Client``. It answers a request as the first recorded one did that is the same and not yet played.

    ``loosely`` takes one with the same model, number of messages and last words of the person's where none is the same;
    ``timed`` takes as long as the vendor did.
    """

    def __init__(self, lines: Sequence[Recorded], *, loosely: bool, timed: bool) -> None:
        self.timed = timed
        self._unplayed = list(lines)
        self._loosely = loosely
        self._asked = 0

    @property
    def left(self) -> int:
        """The number of exchanges that are not played yet."""
        return len(self._unplayed)

    async def connect(self, url: str) -> None:
        """See ``transport.Client``. There is nothing to connect to."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> "Playing":
        """See ``transport.Client``. Raises ``BadRequest`` for a request that was not recorded."""
        self._asked += 1
        line = self._take(urlsplit(url).path, msgspec.json.decode(body))
        if line.response is None:
            raise _raised(line.error)
        if self.timed:
            await asyncio.sleep(line.response.ms / 1000)
        return Playing(line, line.response, timed=self.timed)

    async def aclose(self) -> None:
        """See ``transport.Client``."""

    def _take(self, path: str, body: object) -> Recorded:
        there = [line for line in self._unplayed if urlsplit(line.request.url).path == path]
        fitting = next((line for line in there if difference(line.request.body, body) is None), None)
        if fitting is None and self._loosely:
            fitting = next((line for line in there if gist(line.request.body) == gist(body)), None)
        if fitting is not None:
            self._unplayed = [line for line in self._unplayed if line is not fitting]
            return fitting
        why = (
            f"the next one differs at {difference(there[0].request.body, body)}" if there else f"none to {path} is left"
        )
        hint = "" if self._loosely or not there else "; MARVIN_REPLAY_MATCH=loose overlooks some differences"
        raise BadRequest(f"request {self._asked} is not in the recording: {why}{hint}")


class Playing:
    """See ``transport.Exchange``."""

    def __init__(self, line: Recorded, answered: Answered, *, timed: bool) -> None:
        self.status = answered.status
        self.headers = answered.headers
        self._line = line
        self._chunks = iter(answered.chunks)
        self._timed = timed
        self._ms = answered.ms

    async def read(self) -> bytes:
        """See ``transport.Exchange``."""
        chunk = next(self._chunks, None)
        if chunk is None:
            if self._line.ended in ("error", "silent"):
                raise _raised(self._line.error)
            return b""
        if self._timed:
            await asyncio.sleep((chunk.ms - self._ms) / 1000)
            self._ms = chunk.ms
        return chunk.content

    async def aclose(self) -> None:
        """See ``transport.Exchange``."""


def _raised(failure: Failure | None) -> Exception:
    """What ended an exchange; a silence ends as one that was too long, without the wait."""
    if failure is None:
        return TimeoutError()
    kinds = {kind.__name__: kind for kind in (Interrupted, TimedOut, Unreachable)}
    return kinds.get(failure.type, BadRequest)(failure.message)


def _replay(speaker: Speaker, player: Player, settings: Settings) -> Replay:
    """Raises ``UsageError`` for a wire API that is not known."""
    if speaker.wire_api not in WIRE_APIS:
        raise UsageError(f"the recording is of a wire API that is not known: {speaker.wire_api!r}")
    endpoint = Endpoint(speaker.title, speaker.url, None, speaker.check_key, speaker.check_url)
    transport = Transport(
        request_timeout=settings.request_timeout or _REQUEST_SECONDS,
        stall_timeout=settings.stall_timeout,
        wrap=lambda _: player,
    )
    made = getattr(importlib.import_module(f"marvin_server.providers.{speaker.wire_api}"), WIRE_APIS[speaker.wire_api])
    try:
        return Replay(made(endpoint=endpoint, transport=transport, **speaker.options), player)
    except TypeError as error:
        raise UsageError(f"the recording is of another version of Marvin ({error})") from None


def _is(environ: Mapping[str, str], variable: str, word: str, *, usual: str) -> bool:
    value = environ.get(variable, "").strip().lower() or usual
    if value in (word, usual):
        return value == word
    raise UsageError(f"{variable} is {usual} or {word}, not {value!r}")
