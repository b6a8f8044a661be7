"""Whoever wrote the store: no content of it makes a listing command crash, and what can be shown is shown."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.messages import Message, Text, user_message
from marvin_server.session.store import Store
from tests.e2e.command import Marvin

COLUMNS = ("title", "cwd", "provider", "model", "created_at", "updated_at")


@pytest.fixture
def session(home: Path) -> str:
    """The id of a session with a question, an answer, a draft and a fork."""
    with closing(Store.open(paths.find(dict(os.environ)).database("default"))) as store:
        record = store.create_session("/w", "p", "m", "The basket")
        asked, answer = user_message("Why is it slow?"), Message("assistant", (Text("It counts twice."),))
        store.append(record.id, asked, None)
        store.append(record.id, answer, asked.id)
        store.drafts.keep(record.id, "a" * 32, user_message("And then?"), None)
        store.catalogue.fork(record.id)
    return record.id


def change(statement: str, *values: object) -> None:
    with closing(sqlite3.connect(paths.find(dict(os.environ)).database("default"))) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("content", [b"bytes", b"\xff\xfe", "\N{REPLACEMENT CHARACTER}[[[", 9e999])
def test_a_session_of_whatever_content_is_listed(marvin: Marvin, session: str, column: str, content: object) -> None:
    change(f"UPDATE sessions SET {column} = ? WHERE id = ?", content, session)
    for words in (("list", "--json"), ("list",), ("tree",), ("tree", "--json")):
        done = marvin("sessions", *words)
        assert (done.exit_code, session in done.stdout) == (0, True), done.stderr
        assert ("is damaged" in done.stderr) == (content == b"\xff\xfe")
    assert marvin("context", "--session", session, "--provider", "offline").exit_code == 0


def test_an_entry_that_is_no_message_is_exported_as_it_is_and_named_where_it_cannot_be_shown(
    marvin: Marvin, session: str
) -> None:
    change("UPDATE entries SET body = 'no JSON' WHERE seq = 1")
    exported = json.loads(marvin("sessions", "export", session).stdout)
    assert exported["entries"][0]["body"] == "no JSON"
    done = marvin("sessions", "show", session)
    assert done.exit_code == 1
    assert "is not a message that this Marvin can read" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_draft_whose_keeper_has_no_proper_name_is_listed(marvin: Marvin, session: str) -> None:
    change("UPDATE drafts SET keeper = 'nobody'")
    assert "And then?" in marvin("sessions", "drafts").stdout
