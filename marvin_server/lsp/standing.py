"""How the sessions and the server stand, and how the client gets to know it."""

import logging
from collections.abc import Callable
from typing import Any

from marvin_server.errors import Auth, MarvinError
from marvin_server.events import TurnFinished, TurnStarted
from marvin_server.lsp.elsewhere import Elsewhere
from marvin_server.lsp.live import LiveSessions
from marvin_server.protocol.sessions import Session, SessionChangedParams, SessionDeletedParams
from marvin_server.protocol.status import StatusChangedParams, StatusKind
from marvin_server.protocol.wire import to_wire
from marvin_server.sanitise import one_line, printable
from marvin_server.session.store import SessionRecord

_WARNING = 2
_log = logging.getLogger("marvin.lsp")


class Standing:
    """Tells it by ``tell``, which sends a notification; ``is_plain`` says whether the client has no plugin, and gets
    warnings by LSP's own means."""

    def __init__(self, sessions: LiveSessions, tell: Callable[[str, Any], None], is_plain: Callable[[], bool]) -> None:
        self._sessions = sessions
        self._tell = tell
        self._is_plain = is_plain
        self._elsewhere = Elsewhere(sessions, self.tell_session, self._tell_deleted)
        self._warned: set[str] = set()

    @property
    def is_busy(self) -> bool:
        """Whether anything is at work here."""
        return any(live.running or live.activity for live in self._sessions.all)

    def session(self, session_id: str) -> Session:
        """The dialect's ``session``. Raises ``NoSession``."""
        return self.described(self._sessions.record(session_id))

    def described(self, record: SessionRecord) -> Session:
        """``record`` as the dialect's ``session``."""
        live = self._sessions.find(record.id)
        settings = live.settings if live else self._sessions.settings
        activity = live.activity if live else None
        return Session(
            record.id,
            one_line(record.title),
            record.cwd,
            settings.mode,
            live.choice.provider.model if live and live.choice else settings.model or record.model,
            record.created_at,
            record.updated_at,
            bool(activity or (live and live.running)) or self._sessions.store.leases.is_elsewhere(record.id),
            record.parent_id,
            activity,
        )

    def watch(self, session_id: str) -> None:
        """The client knows the session as it is now; see ``Elsewhere``."""
        self._elsewhere.watch(session_id)

    def forget(self, session_id: str) -> None:
        """The client has deleted the session itself."""
        self._elsewhere.forget(session_id)

    def close(self) -> None:
        """Watch no session any more."""
        self._elsewhere.close()

    def tell_session(self, session_id: str) -> None:
        """Tell the client that the session is not what it was."""
        self._tell("marvin/session/changed", to_wire(SessionChangedParams(self.session(session_id))))
        self.watch(session_id)

    def tell_turn(self, session_id: str, event: TurnStarted | TurnFinished) -> None:
        """Tell what the beginning or the end of a turn has made of its session and of the server."""
        failure = event.error if isinstance(event, TurnFinished) else None
        self.tell_work(session_id, failure.message if failure and failure.kind == Auth.__name__ else None)

    def tell_work(self, session_id: str, warning: str | None = None) -> None:
        """Tell that something has begun or ended in the session; ``warning`` is what the person has to do about it."""
        try:
            self.tell_session(session_id)
        except MarvinError as error:
            _log.warning("session %s: %s", session_id, error)
        if warning is not None:
            self._tell_status("warning", warning)
        elif self.is_busy:
            self._tell_status("busy", "Marvin is at work")
        else:
            self._tell_status("ready", "Marvin is ready")

    def warn(self, line: str, *, must_act: bool = False) -> None:
        """Tell the person something. Without a plugin each line is told once: as a message where nothing works well
        until the person acts, else in the editor's log."""
        if not self._is_plain():
            self._tell_status("warning", line)
        elif line not in self._warned:
            self._warned.add(line)
            method = "window/showMessage" if must_act else "window/logMessage"
            self._tell(method, {"type": _WARNING, "message": f"Marvin: {printable(line)}"})

    def _tell_deleted(self, session_id: str) -> None:
        self._sessions.forget(session_id)
        self._tell("marvin/session/deleted", to_wire(SessionDeletedParams(session_id)))

    def _tell_status(self, kind: StatusKind, message: str) -> None:
        self._tell("marvin/status/changed", to_wire(StatusChangedParams(self.is_busy, kind, one_line(message))))
