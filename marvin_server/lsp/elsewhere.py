"""Sessions that the client has seen, when other processes go on with them."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.errors import NoSession, StoreError
from marvin_server.lsp.live import LiveSessions

if TYPE_CHECKING:
    from marvin_server.session.open_patches import Waiting

_LOOKS_EVERY = 0.25
_log = logging.getLogger("marvin.lsp")


class _State(Struct, frozen=True):
    """What a client can see of a session: its latest entry, its title and place in lists, whether another process is
    at work in it, what is asked and queued meanwhile, and what is open for review."""

    head: str | None
    title: str
    archived: bool
    busy: bool
    questions: tuple[str, ...]
    queued: tuple[str, ...]
    patches: "tuple[Waiting, ...]"


class Elsewhere:
    """Calls ``tell`` with the id of a watched session once another process has changed it, within 0.25 s or so, and
    ``tell_deleted`` once there is no such session any more.

    Looking costs microseconds while nothing was written and nobody else is at work.
    """

    def __init__(
        self, sessions: LiveSessions, tell: Callable[[str], None], tell_deleted: Callable[[str], None]
    ) -> None:
        self._sessions = sessions
        self._tell = tell
        self._tell_deleted = tell_deleted
        self._seen: dict[str, _State] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, session_id: str) -> None:
        """Watch the session from now on; as it is now, the client knows it. Raises ``StoreError``."""
        self._seen[session_id] = self._state(session_id)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def forget(self, session_id: str) -> None:
        """Watch the session no more."""
        self._seen.pop(session_id, None)

    def close(self) -> None:
        """Watch nothing any more."""
        self._seen.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        changes: int | None = None
        while self._seen:
            await asyncio.sleep(_LOOKS_EVERY)
            try:
                now = self._sessions.store.changes()
                for session_id, seen in tuple(self._seen.items()):
                    if seen.busy or now != changes:
                        self._look(session_id, seen)
                changes = now
            except StoreError as error:
                _log.warning("changes of other processes are not told: %s", error)
                self._seen.clear()
        self._task = None

    def _look(self, session_id: str, seen: _State) -> None:
        try:
            state = self._state(session_id)
            self._seen[session_id] = state
            # What this process does itself is told by its turns.
            if state != seen and not self._sessions.store.leases.is_here(session_id):
                self._tell(session_id)
        except NoSession:
            self.forget(session_id)
            self._tell_deleted(session_id)

    def _state(self, session_id: str) -> _State:
        store = self._sessions.store
        head, title, archived = store.catalogue.state(session_id)
        busy = store.leases.is_elsewhere(session_id)
        questions = tuple(question.permission.id for question in store.questions.open(session_id)) if busy else ()
        queued = tuple(prompt.turn_id for prompt in store.drafts.queued(session_id)) if busy else ()
        return _State(head, title, archived, busy, questions, queued, tuple(store.patches.waiting(session_id)))
