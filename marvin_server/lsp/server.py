"""The server behind ``marvin lsp``: it puts the parts of a connection together and translates, nothing more."""

import asyncio
import importlib
import logging
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from marvin_server.errors import MarvinError
from marvin_server.lsp import capabilities, client, folders, framing, streams, uris
from marvin_server.lsp.capabilities import PREFIX
from marvin_server.lsp.client import Client
from marvin_server.lsp.conversations import Conversations
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.editing import LspEditor
from marvin_server.lsp.features import (
    actions,
    commands,
    compact,
    completion,
    config,
    documents,
    inline,
    jobs,
    models,
    one_shot,
    patches,
    permissions,
    prompt,
    sessions,
    status,
    turns,
    undo,
    usage,
)
from marvin_server.lsp.intake import Intake
from marvin_server.lsp.lifecycle import Lifecycle
from marvin_server.lsp.live import LiveSessions
from marvin_server.lsp.recorder import Recorder
from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.rpc import Params, Rpc
from marvin_server.lsp.shown import shown
from marvin_server.lsp.standing import Standing
from marvin_server.lsp.streams import Streams
from marvin_server.protocol.errors import Code
from marvin_server.protocol.wire import to_wire
from marvin_server.settings import Settings
from marvin_server.workspace.file_names import FileNames
from marvin_server.writer import Writer

_METHODS: dict[str, Callable[["Server", Params], Awaitable[Any]]] = {
    "marvin/session/new": sessions.new,
    "marvin/session/fork": sessions.fork,
    "marvin/session/list": sessions.list_,
    "marvin/session/load": sessions.load,
    "marvin/session/update": sessions.update,
    "marvin/session/delete": sessions.delete,
    "marvin/session/compact": compact.compact,
    "marvin/turn/start": turns.start,
    "marvin/turn/cancel": turns.cancel,
    "marvin/oneShot": one_shot.one_shot,
    "marvin/turn/undo": undo.undo,
    "marvin/turn/redo": undo.redo,
    "marvin/permission/answer": permissions.answer,
    "marvin/patch/resolve": patches.resolve,
    "marvin/config/get": config.get,
    "marvin/config/set": config.set_,
    "marvin/context/get": prompt.get,
    "marvin/context/set": prompt.set_,
    "marvin/models/list": models.list_,
    "marvin/command/list": commands.list_,
    "marvin/complete": completion.complete,
    "marvin/job/list": jobs.list_,
    "marvin/job/cancel": jobs.cancel,
    "marvin/usage/get": usage.get,
    "marvin/status": status.status,
}
# What any client may call.
_OF_LSP: dict[str, Callable[["Server", Params], Awaitable[Any]]] = {
    "textDocument/codeAction": actions.code_action,
    "workspace/executeCommand": actions.execute,
    "textDocument/inlineCompletion": inline.inline_completion,
}
# Work ends within this, so that shutdown is answered within 2 s.
_WIND_DOWN_SECONDS = 1.25
_MOMENT = 0.25
_FLUSH_SECONDS = 0.5
_WARNING = 2
_FOR_TURNS = ("marvin_server.session.opening", "marvin_server.session.models", "marvin_server.providers.selection")
_log = logging.getLogger("marvin.lsp")


class Server:
    """One connection with an editor."""

    def __init__(self, settings: Settings, way: Streams, recorder: Recorder | None) -> None:
        self.client = Client()
        self.sessions = LiveSessions(settings)
        self.file_names = FileNames()
        self.documents = Documents()
        self.editor = LspEditor(self.documents, self.ask, lambda: self.client)
        self.standing = Standing(self.sessions, self.tell, lambda: self.client.version is None)
        self._incoming = way.incoming
        self._recorder = recorder
        self._lifecycle = Lifecycle(self._begin, self._wind_down)
        self._writer = Writer(way.outgoing, self._lifecycle.leave)
        requests = {name: partial(self._call, method) for name, method in _METHODS.items()}
        requests |= {name: partial(method, self) for name, method in _OF_LSP.items()}
        self._rpc = Rpc(
            self._send,
            self._lifecycle.admit,
            {"initialize": self._lifecycle.initialize, "shutdown": self._lifecycle.shutdown, **requests},
            {
                "exit": lambda _: self._lifecycle.leave(),
                "initialized": self._greet,
                "window/workDoneProgress/cancel": self._cancel_progress,
                **{name: partial(documents.hear, self, name) for name in documents.NOTIFICATIONS},
            },
        )
        self._intake = Intake(self._take, self._lifecycle.leave, self._break_off)
        self._conversations: Conversations | None = None
        self.inline = inline.Inline(self)

    @property
    def is_full(self) -> bool:
        """See ``feed.Outlet``."""
        return self._writer.is_full

    def when_not_full(self, call: Callable[[], None]) -> None:
        """See ``feed.Outlet``."""
        self._writer.when_not_full(call)

    @property
    def conversations(self) -> Conversations:
        """The sessions of the client's code actions."""
        if self._conversations is None:
            self._conversations = Conversations(self)
        return self._conversations

    @property
    def folders(self) -> list[Path]:
        """The workspace's folders that are on this machine, as the client has told them last."""
        return [Path(path) for uri in self.client.folders if (path := uris.real_path(uri))]

    def folder(self, file: Path | None) -> Path:
        """The folder of the workspace that ``file`` belongs to; see ``folders.folder``."""
        return folders.folder(file, self.folders)

    async def ask(self, method: str, params: Any, seconds: float) -> Any:
        """Ask the client; see ``Rpc.request``."""
        return await self._rpc.request(method, params, seconds)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification; one of the dialect's only to a client that speaks it."""
        if self.client.version is not None or not method.startswith(PREFIX):
            self._rpc.notify(method, params)

    async def run(self) -> int:
        """Serve until the connection ends, and give the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._lifecycle.end, 128 + number)
        streams.read(self._incoming, self._receive)
        code = await self._lifecycle.ended
        await self._lifecycle.finish()
        self._writer.flush(_FLUSH_SECONDS)
        return code

    async def _call(self, method: Callable[["Server", Params], Awaitable[Any]], params: Params) -> Any:
        if self.client.version is None:
            text = "announce capabilities.experimental.marvin = {protocolVersion: 1} in initialize to use this method"
            raise Refusal(Code.UNSUPPORTED, text)
        return to_wire(shown(await method(self, params)))

    def _begin(self, params: Params) -> Any:
        self.client = client.read(params)
        self.documents.encoding = self.client.encoding
        if self.client.process_id is not None:
            self._lifecycle.watch(self.client.process_id)
        return capabilities.initialized(self.client, _METHODS)

    def _greet(self, _: Params) -> None:
        for line in (*self.sessions.settings.warnings, *filter(None, [self.client.problem])):
            self._rpc.notify("window/showMessage", {"type": _WARNING, "message": f"Marvin: {line}"})
        # What the first turn needs is imported meanwhile.
        self._warming = asyncio.create_task(asyncio.to_thread(_warm_up))

    def _cancel_progress(self, params: Params) -> None:
        self.conversations.progresses.cancel(params)

    def _receive(self, chunk: bytes) -> None:
        if not self._lifecycle.ended.done():
            self._intake.receive(chunk)

    def _take(self, body: bytes) -> None:
        self._record(body)
        self._rpc.receive(body)

    def _break_off(self, why: str) -> None:
        """Where the next message begins is lost, so nothing that follows could be answered."""
        _log.error("the connection is broken: %s", why)
        refused = Refusal(Code.PARSE_ERROR, f"{why}; the server ends, since it cannot find the next message")
        self._send({"jsonrpc": "2.0", "id": None, "error": refused.to_wire()})
        self._lifecycle.end(1)

    def _send(self, message: dict[str, Any]) -> None:
        if self._recorder:
            self._recorder.keep("server", message)
        self._writer.write(framing.encode(message))

    def _record(self, body: bytes) -> None:
        if self._recorder:
            try:
                message = framing.decode(body)
            except ValueError:
                message = body.decode("utf-8", "replace")
            self._recorder.keep("client", message)

    async def _wind_down(self) -> None:
        # The end of a request may be what a prompt waits for: it is a draft now, and no turn.
        self.sessions.shut()
        self._rpc.cancel_all(but="shutdown")
        self.editor.close()
        self.standing.close()
        await asyncio.wait([asyncio.create_task(self.inline.close())], timeout=_MOMENT)
        try:
            await self.sessions.close(_WIND_DOWN_SECONDS)
        except MarvinError as error:
            _log.error("at the end: %s", error)


def _warm_up() -> None:
    for name in _FOR_TURNS:
        importlib.import_module(name)


def serve(settings: Settings, way: Streams, recorder: Recorder | None = None) -> int:
    """Serve one client over ``way``, and give the exit code: 0 after ``shutdown`` and ``exit``, 128 + n for a signal,
    1 for any other end."""

    async def run() -> int:
        return await Server(settings, way, recorder).run()

    # The loop is not closed: the process is about to leave, and all that matters is on disk.
    return asyncio.new_event_loop().run_until_complete(run())
