"""One session of the Copilot SDK, turned inside out: its tool calls wait until our own loop has run them.

The SDK (https://github.com/github/copilot-sdk) runs a whole turn by itself and calls a function for each tool call.
Here that function only waits for the result, which comes with the next request.
"""

import asyncio
import contextlib
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marvin_server.messages import Image, ToolResult
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.wire_json import mend_surrogates

_CLOSE_SECONDS = 1.0
_STOP_SECONDS = 2.0


async def start_client(command: str, environ: Mapping[str, str], home: str) -> Any:
    """A started client of the SDK, whose process is ``command``. The import alone takes a second or two."""
    Path(home).mkdir(parents=True, exist_ok=True)
    sdk = await asyncio.to_thread(importlib.import_module, "copilot")
    # In this mode the SDK keeps its process off the system's keychain, since it may serve several people. Here it
    # serves the one who has logged in, and that is where their login is.
    path, arguments = "/usr/bin/env", ["-u", "COPILOT_DISABLE_KEYTAR", command]
    client = sdk.CopilotClient(
        connection=sdk.RuntimeConnection.for_stdio(path=path, args=arguments),
        mode="empty",
        env=dict(environ),
        base_directory=home,
        working_directory=home,
        use_logged_in_user=True,
        log_level="error",
    )
    try:
        await client.start()
    except BaseException:
        await stop_client(client)
        raise
    return client


async def stop_client(client: Any) -> None:
    """End the client and its process, by force if it does not end when it is asked to."""
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await client.stop()
    except Exception:  # the SDK reports whatever went wrong at the end
        await client.force_stop()


def own_endpoint(environ: Mapping[str, str]) -> Mapping[str, str] | None:
    """The model server that the variables of Copilot's command name instead of GitHub's, as the SDK wants it told.

    Variables: ``copilot help providers``.
    """
    if not (base_url := environ.get("COPILOT_PROVIDER_BASE_URL")):
        return None
    names = {"api_key": "API_KEY", "bearer_token": "BEARER_TOKEN", "wire_api": "WIRE_API"}
    given = {field: environ.get(f"COPILOT_PROVIDER_{name}", "") for field, name in names.items()}
    kind = environ.get("COPILOT_PROVIDER_TYPE") or "openai"
    return {"type": kind, "base_url": base_url, **{field: value for field, value in given.items() if value}}


class Conversation:
    """A session with the prompt and the tools of ``request``. ``seen`` are the ids of the messages that it knows."""

    def __init__(self, request: ModelRequest) -> None:
        self.seen: tuple[str, ...] = ()
        self._call_ids: dict[str, str] = {}
        self._setup = _setup(request)
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self._results: dict[str, asyncio.Future[ToolResult]] = {}
        self._sdk_session: Any = None
        self._tools: Any = None

    async def open(self, client: Any, model: str, request: ModelRequest, endpoint: Mapping[str, str] | None) -> None:
        """Create the session; its one listener is there from the first event to the last.

        ``endpoint`` is a model server of the person's own, see ``own_endpoint``.
        """
        self._tools = importlib.import_module("copilot.tools")
        tools = [
            self._tools.Tool(
                tool.name,
                tool.description,
                self._wait_for_result,
                dict(tool.parameters),
                overrides_built_in_tool=True,
                skip_permission=True,
                defer="never",
            )
            for tool in request.tools
        ]
        effort = request.effort if request.effort != "none" else None
        self._sdk_session = await client.create_session(
            model=model,
            reasoning_effort=effort,
            streaming=True,
            tools=tools,
            available_tools=["custom:*"],
            system_message={"mode": "replace", "content": mend_surrogates(request.system)},
            infinite_sessions={"enabled": False},
            large_output={"enabled": False},
            provider=endpoint,
            on_event=self._events.put_nowait,
        )

    def fits(self, request: ModelRequest) -> bool:
        """Whether ``request`` only adds to what the session knows, under the same prompt and tools."""
        known = tuple(message.id for message in request.history[: len(self.seen)])
        return bool(self.seen) and known == self.seen and self._setup == _setup(request)

    @property
    def awaited(self) -> set[str]:
        """The ids of the calls whose results the session waits for."""
        return set(self._call_ids)

    async def send(self, text: str, images: Sequence[Image]) -> None:
        """Say something as the user."""
        while not self._events.empty():
            self._events.get_nowait()
        attachments = [{"type": "blob", "data": image.data, "mimeType": image.mime_type} for image in images]
        await self._sdk_session.send(mend_surrogates(text), attachments=attachments or None)

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Hand in a result for each call that the last message asked for."""
        for result in results:
            self._result(self._call_ids[result.call_id]).set_result(result)
        self._call_ids = {}

    def expect(self, call_ids: Mapping[str, str]) -> None:
        """Note the calls of a message: our id and the session's own for each."""
        self._call_ids = dict(call_ids)
        for call_id in call_ids.values():
            if call_id in self._results and self._results[call_id].done():
                del self._results[call_id]

    async def next_event(self, seconds: float) -> Any:
        """The next event. Raises ``TimeoutError``."""
        async with asyncio.timeout(seconds):
            return await self._events.get()

    async def close(self, client: Any) -> None:
        """Stop what the session is at, and remove it. A session that does not react is left to its process's end."""
        if self._sdk_session is None:
            return
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._sdk_session.abort()
                await self._sdk_session.disconnect()
                await client.delete_session(self._sdk_session.session_id)

    def _result(self, call_id: str) -> asyncio.Future[ToolResult]:
        return self._results.setdefault(call_id, asyncio.get_running_loop().create_future())

    async def _wait_for_result(self, invocation: Any) -> Any:
        """What the SDK calls for a tool call."""
        try:
            result = await self._result(invocation.tool_call_id)
        finally:
            self._results.pop(invocation.tool_call_id, None)
        images = [self._tools.ToolBinaryResult(data=image.data, mime_type=image.mime_type) for image in result.images]
        return self._tools.ToolResult(mend_surrogates(result.text), "success", binary_results_for_llm=images or None)


def _setup(request: ModelRequest) -> tuple[object, ...]:
    return request.system, request.effort, tuple(request.tools)
