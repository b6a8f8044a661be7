"""Takes the chat log of an earlier assistant into the store, as a session of its own.

The log is a JSON array of ``{role, text, time}``, where the role is ``you``, ``assistant`` or ``system``.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeGuard, cast

from marvin_server.errors import MarvinError
from marvin_server.messages import Message, Text
from marvin_server.session import transcript
from marvin_server.session.database import Database
from marvin_server.session.transcript import storable


def take_in(database: Path, file: Path, cwd: str) -> str | None:
    """The id of the session that holds all entries of the log ``file`` with their times, or that of the entry before
    where one has none; None for an empty log. The same log is taken in once. Raises ``MarvinError`` for a file that is
    no chat log."""
    try:
        content = file.read_bytes()
        entries: object = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise MarvinError(f"{file}: this chat log cannot be read ({error}); it is left as it is") from error
    if not isinstance(entries, list):
        raise MarvinError(f"{file}: a chat log is a JSON array; it is left as it is")
    if not entries:
        return None
    digest = hashlib.sha256(content).hexdigest()
    store = Database.open(database)
    try:
        _store(store, digest, list(_entries(cast("list[object]", entries))), cwd)
    finally:
        store.close()
    return _id(digest, "")


def _store(store: Database, digest: str, entries: list[tuple[str, Message]], cwd: str) -> None:
    session_id = _id(digest, "")
    first, last = entries[0][0], entries[-1][0]
    with store.transaction() as database:
        if database.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone():
            return
        database.execute(
            "INSERT INTO sessions (id, title, cwd, provider, model, created_at, updated_at) VALUES (?,?,?,'','',?,?)",
            (session_id, "Chat log of local-finder", storable(cwd), first, last),
        )
        parent: str | None = None
        for number, (at, message) in enumerate(entries):
            entry_id = _id(digest, str(number))
            body = transcript.encode(Message(message.role, message.parts, entry_id))
            inserted = database.execute(
                "INSERT INTO entries (id, session_id, parent_id, kind, at, body) VALUES (?, ?, ?, 'message', ?, ?)",
                (entry_id, session_id, parent, at, body),
            )
            text = storable(message.text).replace("\0", " ")
            database.execute("INSERT INTO entry_text (rowid, text) VALUES (?, ?)", (inserted.lastrowid, text))
            parent = entry_id
        database.execute("UPDATE sessions SET head = ? WHERE id = ?", (parent, session_id))


def _entries(values: list[object]) -> Iterator[tuple[str, Message]]:
    """When each was said, and what."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    for value in values:
        if _is_time(time := _fields(value).get("time")):
            at = time
        yield at, _message(value)


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_time(value: object) -> TypeGuard[str]:
    """Whether it is a time in ISO 8601, of this age."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).timestamp() > 0 and value.isascii()
    except (ValueError, OverflowError):
        return False


def _message(value: object) -> Message:
    """What was said; an entry that is none of the known kind is kept as its JSON text."""
    role, text = _fields(value).get("role"), _fields(value).get("text")
    if not isinstance(text, str) or role not in ("you", "assistant"):
        text = f"[{role}] {text}" if isinstance(text, str) else json.dumps(value, ensure_ascii=False)
    return Message("assistant" if role == "assistant" else "user", (Text(text),))


def _id(digest: str, part: str) -> str:
    """An id of the usual shape that is the same for the same log; it sorts before all that Marvin makes."""
    return f"{0:012x}{hashlib.sha256(f'{digest} {part}'.encode()).hexdigest()[:14]}"
