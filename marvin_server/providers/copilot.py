"""GitHub Copilot by way of its SDK (extra ``copilot``): the person's own login, our prompt, our tools."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from marvin_server.errors import Interrupted, ProviderError, TimedOut, Unreachable, UsageError
from marvin_server.events import MessageFinished
from marvin_server.messages import ToolResult
from marvin_server.providers import copilot_prompt, failures
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.copilot_reply import Reply
from marvin_server.providers.copilot_session import Conversation, own_endpoint, start_client, stop_client
from marvin_server.providers.failures import Endpoint
from marvin_server.settings import Settings

DEFAULT_MODEL = "claude-haiku-4.5"
_REQUEST_SECONDS = 180.0
_TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
_LOGGED_IN = re.compile(r'"(loggedInUsers|logged_in_users)"\s*:\s*\[\s*\{')
_STATUS_OF_WORD = {"auth": 401, "quota": 429, "rate": 429, "context": 413}
_ENDPOINT = Endpoint(
    "GitHub Copilot",
    "https://api.githubcopilot.com",
    None,
    check_key="the login (copilot login)",
    check_url="COPILOT_PROVIDER_BASE_URL",
)


def logged_in(environ: Mapping[str, str]) -> bool:
    """Whether Copilot can answer, found without starting it: SDK and command are there, and the person has logged in.

    A login is ``COPILOT_GITHUB_TOKEN`` or a user in ``config.json`` of Copilot's folder. Variables that are meant for
    any of GitHub's tools (``GH_TOKEN``) serve when Copilot is asked for by name, but are no reason to choose it.
    """
    if find_spec("copilot") is None or _command(environ) is None:
        return False
    if environ.get("COPILOT_GITHUB_TOKEN"):
        return True
    try:
        text = Path(_home(environ), "config.json").read_text("utf-8", "replace")
    except OSError:
        return False
    return bool(_LOGGED_IN.search(text))


def create(settings: Settings) -> "Copilot":
    """The provider for ``--model``, ``MARVIN_MODEL``, ``MARVIN_CHAT_MODEL`` or the settings file's model.

    Raises ``UsageError`` where the SDK or the command that it drives is missing.
    """
    if find_spec("copilot") is None:
        raise UsageError("the provider copilot needs its SDK: pip install 'marvin-assistant[copilot]'")
    command = _command(settings.environ)
    if command is None:
        raise UsageError(
            "the provider copilot needs the command of GitHub Copilot: npm install -g @github/copilot, then: copilot "
            "login (or name it in COPILOT_CLI_PATH)"
        )
    of_variable = settings.environ.get("MARVIN_CHAT_MODEL", "").strip()
    own = {name: value for name, value in settings.environ.items() if name.startswith("COPILOT_") or name in _TOKENS}
    return Copilot(
        model=settings.model or of_variable or settings.default_model or DEFAULT_MODEL,
        command=command,
        home=_home(settings.environ),
        environ={**settings.child_environ(), **own},
        request_timeout=settings.request_timeout or _REQUEST_SECONDS,
        stall_timeout=settings.stall_timeout,
    )


class Copilot:
    """A provider for one model. ``command`` is the path of Copilot's command, ``home`` the folder of its login.

    One client and one session serve a conversation from round to round. What the session has not seen (another
    conversation, other tools, a turn that was cancelled) begins a new one, with the history as text. Times are in
    seconds; ``environ`` is the command's.
    """

    name = "copilot"

    def __init__(
        self,
        *,
        model: str,
        command: str,
        home: str,
        environ: Mapping[str, str],
        request_timeout: float,
        stall_timeout: float,
    ) -> None:
        self.model = model
        self._command = command
        self._home = home
        self._environ = environ
        self._request_timeout = request_timeout
        self._stall_timeout = stall_timeout
        self._client: Any = None
        self._conversation: Conversation | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """See ``Provider``."""
        deadline = asyncio.get_running_loop().time() + self._request_timeout
        reply, whole = Reply(), False
        try:
            conversation = await self._ask(request, deadline)
            while not reply.finished:
                for delta in self._read(await self._next(conversation, deadline, begun=reply.begun), reply):
                    yield delta
            taken_ids = {call.id for message in request.history for call in message.tool_calls}
            message, call_ids = reply.message(self.name, self.model, taken_ids)
            conversation.expect(call_ids)
            conversation.seen = (*(earlier.id for earlier in request.history), message.id)
            whole = True
            yield MessageFinished(message)
        finally:
            if not whole:
                await self._close_conversation()

    async def connect(self) -> None:
        """Its process starts with the first request."""

    async def aclose(self) -> None:
        """End the session and Copilot's process."""
        await self._close_conversation()
        client, self._client = self._client, None
        if client is not None:
            await stop_client(client)

    async def _ask(self, request: ModelRequest, deadline: float) -> Conversation:
        """Put the question to the session that knows what came before, or to a new one."""
        try:
            async with asyncio.timeout_at(deadline):
                known = self._conversation
                if known and known.fits(request) and len(request.history) == len(known.seen) + 1:
                    new = request.history[-1]
                    results = [part for part in new.parts if isinstance(part, ToolResult)]
                    if results and {result.call_id for result in results} == known.awaited:
                        known.answer(results)
                        return known
                    if new.role == "user" and not known.awaited:
                        await known.send(new.text, copilot_prompt.pictures([new]))
                        return known
                return await self._begin(request)
        except TimeoutError:
            raise await self._too_late() from None
        except Exception as error:  # the SDK raises whatever its process, its protocol and its parser come to
            await self.aclose()
            raise _failed(error) from error

    async def _begin(self, request: ModelRequest) -> Conversation:
        await self._close_conversation()
        if self._client is None:
            self._client = await start_client(self._command, self._environ, self._home)
        self._conversation = conversation = Conversation(request)
        await conversation.open(self._client, self.model, request, own_endpoint(self._environ))
        await conversation.send(copilot_prompt.render(request.history), copilot_prompt.pictures(request.history))
        return conversation

    async def _next(self, conversation: Conversation, deadline: float, *, begun: bool) -> Any:
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        try:
            return await conversation.next_event(min(left, self._stall_timeout) if begun else left)
        except TimeoutError:
            raise await self._too_late() from None

    def _read(self, event: Any, reply: Reply) -> list[StreamEvent]:
        data = event.data
        match str(getattr(event.type, "value", event.type)):
            case "session.error":
                raise _reported(data)
            case "abort":
                raise Interrupted("GitHub Copilot broke off its answer")
            case kind:
                return reply.read(kind, data)

    async def _too_late(self) -> TimedOut:
        """A session that took too long is not trusted any more, and neither is its process."""
        await self.aclose()
        return TimedOut("GitHub Copilot took too long; the settings request_timeout and stall_timeout allow more")

    async def _close_conversation(self) -> None:
        conversation, self._conversation = self._conversation, None
        if conversation:
            await conversation.close(self._client)


def _command(environ: Mapping[str, str]) -> str | None:
    return environ.get("COPILOT_CLI_PATH") or shutil.which("copilot", path=environ.get("PATH"))


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("COPILOT_HOME") or str(Path(environ.get("HOME") or Path.home(), ".copilot"))


def _reported(data: Any) -> ProviderError:
    """The error that a session reports of its model."""
    label = "auth" if "OAuth token" in data.message else str(data.error_type).lower()
    status = data.status_code or next((number for word, number in _STATUS_OF_WORD.items() if word in label), 500)
    return failures.refused(_ENDPOINT, int(status), {}, json.dumps({"message": str(data.message)}).encode())


def _failed(error: Exception) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return Unreachable(f"GitHub Copilot cannot be used ({reason}); see whether this works: copilot -p hello")
