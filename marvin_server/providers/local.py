"""A GGUF file on disk as a provider, with llama.cpp's engine inside (extra ``local``, the package xllamacpp)."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path

from marvin_server.errors import Interrupted, Unreachable, UsageError
from marvin_server.events import Notice
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.failures import Endpoint
from marvin_server.providers.local_engine import Engine
from marvin_server.providers.openai_chat import OpenAIChat
from marvin_server.providers.transport import Client, Transport
from marvin_server.settings import Settings

_LARGEST_CONTEXT = 32_768
_REQUEST_SECONDS = 180.0
_MAGIC = b"GGUF"

Record = Callable[[Endpoint, Mapping[str, str]], Callable[[Client], Client]]


def create(settings: Settings) -> "Local":
    """The provider for the file that ``--model``, ``MARVIN_MODEL``, ``MARVIN_LOCAL_MODEL`` or the settings file names.

    Raises ``UsageError`` when none does, when it is no GGUF file, when the engine is not installed, or when the
    recording that the settings ask for cannot be written.
    """
    from importlib.util import find_spec

    if find_spec("xllamacpp") is None:
        raise UsageError("the provider local needs an engine: pip install 'marvin-assistant[local]'")
    named = settings.model or settings.environ.get("MARVIN_LOCAL_MODEL", "").strip() or settings.default_model
    if not named:
        raise UsageError("the provider local needs a GGUF file: name one with --model or MARVIN_LOCAL_MODEL")
    return Local(
        _checked(Path(named).expanduser().absolute()),
        request_timeout=settings.request_timeout or _REQUEST_SECONDS,
        stall_timeout=settings.stall_timeout,
        environ=settings.child_environ(),
        record=_record(settings),
    )


class Local:
    """A provider for one GGUF file. The engine starts with the first request and ends with ``aclose``.

    Times are in seconds; loading counts as a request of its own. The model runs with the context that it was trained
    for, up to ``context`` tokens: the memory that it takes grows with the size. ``environ`` is the engine's. ``record``
    makes, of the engine's endpoint and what its provider is made with, what records their exchanges.
    """

    name = "local"

    def __init__(
        self,
        file: Path,
        *,
        request_timeout: float,
        stall_timeout: float,
        environ: Mapping[str, str],
        context: int = _LARGEST_CONTEXT,
        record: Record | None = None,
    ) -> None:
        self.model = file.stem
        self._file = file
        self._context = context
        self._request_timeout = request_timeout
        self._stall_timeout = stall_timeout
        self._environ = environ
        self._record = record
        self._engine: Engine | None = None
        self._chat: OpenAIChat | None = None
        self._starting = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``. An engine that has crashed is started again by the next request."""
        if not (self._engine and self._engine.alive):
            yield Notice("note", f"loading {self.model} …")
        chat = await self._running()
        try:
            async with aclosing(chat.stream(request)) as events:
                async for event in events:
                    yield event
        except (Interrupted, Unreachable):
            await self.aclose()
            raise

    async def connect(self) -> None:
        """The engine starts with the first request."""

    async def aclose(self) -> None:
        """End the engine."""
        async with self._starting:
            await self._stop()

    async def _running(self) -> OpenAIChat:
        async with self._starting:
            if self._chat and self._engine and self._engine.alive:
                return self._chat
            await self._stop()
            self._engine = await Engine.start(
                self._file,
                name=self.model,
                context=self._context,
                seconds=self._request_timeout,
                environ=self._environ,
            )
            endpoint = Endpoint(self.model, self._engine.url, self._engine.key, "--model", "--model")
            options = {"name": self.name, "model": self.model}
            transport = Transport(
                request_timeout=self._request_timeout,
                stall_timeout=self._stall_timeout,
                wrap=self._record(endpoint, options) if self._record else None,
            )
            self._chat = OpenAIChat(endpoint=endpoint, transport=transport, **options)
            return self._chat

    async def _stop(self) -> None:
        if self._chat:
            await self._chat.aclose()
        if self._engine:
            await self._engine.stop()
        self._chat = self._engine = None


def _record(settings: Settings) -> Record | None:
    if settings.record is None:
        return None
    from marvin_server.providers.recorder import recorder
    from marvin_server.providers.recording import Tape

    tape = Tape(settings.record)
    return lambda endpoint, options: recorder(tape, settings, endpoint, "openai_chat", options)


def _checked(file: Path) -> Path:
    try:
        with file.open("rb") as start:
            if start.read(len(_MAGIC)) == _MAGIC:
                return file
    except OSError as error:
        raise UsageError(f"--model {file}: {error.strerror}") from None
    raise UsageError(f"--model {file}: this is no GGUF file (it does not begin with GGUF)")
