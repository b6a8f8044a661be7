"""The server behind ``marvin lsp``: it puts the parts of a connection together and translates, nothing more."""

import asyncio
import importlib
import logging
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server import __version__
from marvin_server.errors import Auth, MarvinError
from marvin_server.events import TurnFinished, TurnStarted
from marvin_server.lsp import client, folders, framing, streams
from marvin_server.lsp.client import Client
from marvin_server.lsp.conversations import Conversations
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.editing import LspEditor
from marvin_server.lsp.elsewhere import Elsewhere
from marvin_server.lsp.features import (
    actions,
    commands,
    completion,
    config,
    documents,
    inline,
    jobs,
    models,
    one_shot,
    patches,
    permissions,
    sessions,
    status,
    turns,
    undo,
    usage,
)
from marvin_server.lsp.framing import BrokenFrame, Frames
from marvin_server.lsp.lifecycle import Lifecycle
from marvin_server.lsp.live import LiveSession, LiveSessions
from marvin_server.lsp.recorder import Recorder
from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.rpc import Params, Rpc
from marvin_server.lsp.streams import Streams
from marvin_server.lsp.writer import Writer
from marvin_server.protocol.errors import Code
from marvin_server.protocol.greeting import VERSION
from marvin_server.protocol.sessions import Session, SessionChangedParams
from marvin_server.protocol.status import StatusChangedParams, StatusKind
from marvin_server.protocol.wire import to_wire
from marvin_server.session.store import SessionRecord
from marvin_server.settings import Settings
from marvin_server.workspace.file_names import FileNames

if TYPE_CHECKING:
    from marvin_server.providers.selection import Choice

_METHODS: dict[str, Callable[["Server", Params], Awaitable[Any]]] = {
    "marvin/session/new": sessions.new,
    "marvin/session/fork": sessions.fork,
    "marvin/session/list": sessions.list_,
    "marvin/session/load": sessions.load,
    "marvin/session/update": sessions.update,
    "marvin/session/delete": sessions.delete,
    "marvin/turn/start": turns.start,
    "marvin/turn/cancel": turns.cancel,
    "marvin/oneShot": one_shot.one_shot,
    "marvin/turn/undo": undo.undo,
    "marvin/turn/redo": undo.redo,
    "marvin/permission/answer": permissions.answer,
    "marvin/patch/resolve": patches.resolve,
    "marvin/config/get": config.get,
    "marvin/config/set": config.set_,
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
_PREFIX = "marvin/"
# Work ends within this, so that shutdown is answered within 2 s.
_WIND_DOWN_SECONDS = 1.25
_FLUSH_SECONDS = 0.5
# A message that is not whole after so long a silence never will be: its length was wrong.
_SILENCE_SECONDS = 10.0
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
        self.elsewhere = Elsewhere(self.sessions, self.tell_session)
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
        self._frames = Frames()
        self._silence: asyncio.TimerHandle | None = None
        self._conversations: Conversations | None = None
        self.inline = inline.Inline(self)

    @property
    def is_busy(self) -> bool:
        """Whether any turn runs."""
        return any(live.running for live in self.sessions.all)

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

    def folder(self, file: Path | None) -> Path:
        """The folder of the workspace that ``file`` belongs to; see ``folders.folder``."""
        return folders.folder(file, [folders.path(uri) for uri in self.client.folders if uri.startswith("file:")])

    async def ask(self, method: str, params: Any, seconds: float) -> Any:
        """Ask the client; see ``Rpc.request``."""
        return await self._rpc.request(method, params, seconds)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification; one of the dialect's only to a client that speaks it."""
        if self.client.version is not None or not method.startswith(_PREFIX):
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

    async def opened(self, live: LiveSession) -> Any:
        """The conversation of ``live``, ready for turns; whoever asks holds its lock."""
        if live.choice is None:
            live.go_on_with(live.settings, await self.choose(live.settings))
        is_new = live.opened is None
        session = await self.opened_without_turns(live)
        if is_new and live.choice and live.choice.notice:
            self.tell_status("warning", live.choice.notice)
        return session

    async def choose(self, settings: Settings) -> "Choice":
        """Who answers by these ``settings``. Raises ``UsageError`` and ``Auth``, and where a cost limit cannot hold."""
        from marvin_server.providers import selection
        from marvin_server.session import models

        choice = await asyncio.to_thread(selection.choose, settings)
        await asyncio.to_thread(models.check_price, settings, choice)
        return choice

    async def opened_without_turns(self, live: LiveSession) -> Any:
        """The conversation of ``live`` for all but turns: nobody has to be there who answers."""
        if live.opened is None:
            record = self.sessions.record(live.id)
            on_turn = partial(self._tell_turn, live.id)
            can_review = self.client.version is not None
            opened = live.open(
                self.sessions.store,
                record,
                self,
                self.client.opt_out,
                on_turn,
                editor=self.editor,
                can_review=can_review,
            )
            for line in await opened:
                self.tell_status("warning", line)
        assert live.opened is not None
        return live.opened.session

    def session(self, session_id: str) -> Session:
        """The dialect's ``session``. Raises ``NoSession``."""
        return self.described(self.sessions.record(session_id))

    def described(self, record: SessionRecord) -> Session:
        """``record`` as the dialect's ``session``."""
        live = self.sessions.find(record.id)
        settings = live.settings if live else self.sessions.settings
        return Session(
            record.id,
            record.title,
            record.cwd,
            settings.mode,
            live.choice.provider.model if live and live.choice else settings.model or record.model,
            record.created_at,
            record.updated_at,
            bool(live and live.running) or self.sessions.store.leases.is_elsewhere(record.id),
            record.parent_id,
        )

    def tell_session(self, session_id: str) -> None:
        """Tell the client that the session is not what it was."""
        self.tell("marvin/session/changed", to_wire(SessionChangedParams(self.session(session_id))))
        self.elsewhere.watch(session_id)

    def tell_status(self, kind: StatusKind, message: str) -> None:
        """Tell the client how the server is."""
        self.tell("marvin/status/changed", to_wire(StatusChangedParams(self.is_busy, kind, message)))

    def _tell_turn(self, session_id: str, event: TurnStarted | TurnFinished) -> None:
        try:
            self.tell_session(session_id)
        except MarvinError as error:
            _log.warning("session %s: %s", session_id, error)
        busy, failure = self.is_busy, event.error if isinstance(event, TurnFinished) else None
        if failure is not None and failure.kind == Auth.__name__:
            self.tell_status("warning", failure.message)
        else:
            self.tell_status("busy" if busy else "ready", "Marvin is at work" if busy else "Marvin is ready")

    async def _call(self, method: Callable[["Server", Params], Awaitable[Any]], params: Params) -> Any:
        if self.client.version is None:
            text = "announce capabilities.experimental.marvin = {protocolVersion: 1} in initialize to use this method"
            raise Refusal(Code.UNSUPPORTED, text)
        return to_wire(await method(self, params))

    def _begin(self, params: Params) -> Any:
        self.client = client.read(params)
        self.documents.encoding = self.client.encoding
        if self.client.process_id is not None:
            self._lifecycle.watch(self.client.process_id)
        marvin: dict[str, Any] = {
            "protocolVersion": self.client.version or VERSION,
            "features": {name.removeprefix(_PREFIX): {} for name in _METHODS},
            "limits": {"messageBytes": framing.LARGEST_BODY},
            "version": __version__,
        }
        capabilities: dict[str, Any] = {"positionEncoding": self.client.encoding, "experimental": {"marvin": marvin}}
        capabilities |= actions.CAPABILITIES
        if self.client.completes_inline:
            capabilities["inlineCompletionProvider"] = True
        capabilities |= documents.CAPABILITIES
        return {"capabilities": capabilities, "serverInfo": {"name": "marvin", "version": __version__}}

    def _greet(self, _: Params) -> None:
        for line in (*self.sessions.settings.warnings, *filter(None, [self.client.problem])):
            self._rpc.notify("window/showMessage", {"type": _WARNING, "message": f"Marvin: {line}"})
        # What the first turn needs is imported meanwhile.
        self._warming = asyncio.create_task(asyncio.to_thread(_warm_up))

    def _cancel_progress(self, params: Params) -> None:
        self.conversations.progresses.cancel(params)

    def _receive(self, chunk: bytes) -> None:
        """Take what the client has sent; ``b""`` is the end of it."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self._lifecycle.ended.done():
            return
        try:
            for body in self._frames.feed(chunk):
                self._record(body)
                self._rpc.receive(body)
        except BrokenFrame as error:
            self._break_off(str(error))
            return
        if not chunk:
            if self._frames.is_within:
                _log.error("the input ended within a message")
            self._lifecycle.leave()
        elif self._frames.is_within:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(_SILENCE_SECONDS, self._break_off, "a message is shorter than it says")

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
        self._rpc.cancel_all(but="shutdown")
        self.elsewhere.close()
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
