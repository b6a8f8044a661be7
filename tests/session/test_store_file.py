"""The store as a file: of other versions, damaged, on a full disk, and of several processes at once."""

import random
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from marvin_server.errors import StoreError
from marvin_server.messages import Charge, Message, Text, Usage
from marvin_server.session import schema
from marvin_server.session.steps import Step
from marvin_server.session.store import Store
from marvin_server.session.usage import ModelUsage
from tests.patience import SECONDS
from tests.session.test_store import say

ROOT = Path(__file__).parents[2]


def python(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = (sys.executable, "-c", program, *map(str, arguments))
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_stored_message_of_an_unknown_shape_is_named(store: Store, path: Path) -> None:
    session = say(store, "hello")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("""UPDATE entries SET body = replace(body, '"type":"text"', '"type":"video"')""")
    with pytest.raises(StoreError, match=f"entry {session.head} is not a message"):
        store.history(session.id)


USAGE_BEFORE_9 = """CREATE TABLE usage (
    session_id TEXT NOT NULL REFERENCES sessions (id), provider TEXT NOT NULL, model TEXT NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
    cost REAL, at TEXT NOT NULL, saved REAL)"""


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7, 8])
def test_a_file_of_an_older_marvin_is_brought_up_to_date(path: Path, version: int) -> None:
    store = Store.open(path)
    session = say(store, "hello")
    store.spending.record(session.id, "p", "m", Usage(3, 2), Charge(0.5))
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE usage RENAME TO later_usage")
        connection.execute(USAGE_BEFORE_9)
        connection.execute(
            """INSERT INTO usage SELECT session_id, provider, model, input, output, cache_read, cache_write,
            cost / 1e12, at, saved FROM later_usage"""
        )
        connection.execute("DROP TABLE later_usage")
        connection.execute("DROP TABLE spent")
        connection.execute("DROP TABLE context_choices")
        connection.execute("ALTER TABLE sessions DROP COLUMN is_chat")
        if version < 8:
            connection.execute("ALTER TABLE drafts DROP COLUMN turn_id")
        if version < 7:
            connection.execute("DROP TABLE patches")
            connection.execute("ALTER TABLE entries DROP COLUMN turn_id")
        if version < 6:
            connection.execute("ALTER TABLE sessions DROP COLUMN keeper")
        if version < 5:
            connection.execute("DROP TABLE questions")
            connection.execute("DROP TABLE drafts")
            connection.execute("DROP INDEX entries_by_parent")
            connection.execute("DROP INDEX sessions_by_head")
        if version < 4:
            connection.execute("ALTER TABLE sessions DROP COLUMN archived")
        if version < 3:
            connection.execute("DROP TABLE checkpoints")
        if version < 2:
            connection.execute("ALTER TABLE usage DROP COLUMN saved")
        connection.execute(f"PRAGMA user_version = {version}")
    used = ModelUsage(1, Usage(3, 2), 0.5, provider="p", model="m")
    for _ in range(2):
        with closing(Store.open(path)) as again:
            assert again.spending.by_model() == [used]
            assert again.spending.of_session(session.id) == [used]
            assert again.find(session.id) == session
            assert again.drafts.queued(session.id) == []
            again.steps.end(again.steps.begin(Step(session.id, "t", "edit", "/work", "a")), "b")
    with closing(Store.open(path)) as again:
        assert [step.after for step in again.steps.all()] == ["b", "b"]


def test_a_file_of_a_newer_marvin_is_refused_and_left_as_it_is(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(StoreError, match="made by a newer Marvin"):
        Store.open(path)


def test_a_damaged_file_is_named_with_what_to_do(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 100)
    with pytest.raises(StoreError) as caught:
        Store.open(path)
    assert str(caught.value) == (
        f"{path} is damaged: move it aside, with marvin.db-wal beside it, and Marvin starts a new one"
    )


def test_damage_inside_of_a_file_is_a_store_error(path: Path) -> None:
    with closing(Store.open(path)) as store:
        session = say(store, "hello")
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StoreError, match="is damaged: move it aside"), closing(Store.open(path)) as store:
        store.history(session.id)


def test_a_place_that_cannot_hold_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        Store.open(tmp_path / "file" / "marvin.db")
    with pytest.raises(StoreError, match="cannot be used"):
        Store.open(tmp_path)


def test_a_full_disk_loses_nothing_and_appending_goes_on_when_there_is_room(store: Store, path: Path) -> None:
    session = say(store, "before")
    big = Message("assistant", (Text("word " * 100_000),))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name("marvin.db-wal").stat().st_size + 8192, before[1]))
    try:
        with pytest.raises(StoreError, match=r"marvin\.db cannot be written .*: make room on its disk and try again"):
            store.append(session.id, big, session.head)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store.find(session.id) == session
    store.append(session.id, big, session.head)
    assert [message.text for message in store.history(session.id)] == ["before", big.text]


OPENER = """
import sys
from pathlib import Path
from marvin_server.session.store import Store
print("ready", flush=True)
sys.stdin.readline()
print(Store.open(Path(sys.argv[1])).create_session("/", "p", "m").id)
"""


def test_many_processes_may_create_the_file_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / str(attempt) / "marvin.db"
        processes = [python(OPENER, path) for _ in range(6)]
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        ids = {process.communicate(timeout=SECONDS)[0].strip() for process in processes}
        with closing(Store.open(path)) as store:
            assert {session.id for session in store.sessions()} == ids
        assert len(ids) == 6


APPENDER = """
import sys
from pathlib import Path
from marvin_server.messages import Message, Text, new_id
from marvin_server.session.store import Store
store = Store.open(Path(sys.argv[1]))
session_id, parent_id, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
for number in range(count):
    message = Message("assistant", (Text(f"message {number} " + "x" * (number * 97 % 3000)),))
    store.append(session_id, message, parent_id)
    print(message.id, flush=True)
    parent_id = message.id
"""


def test_processes_that_append_to_one_session_make_branches(store: Store, path: Path) -> None:
    session = say(store, "root")
    processes = [python(APPENDER, path, session.id, session.head, 40) for _ in range(3)]
    branches = [process.communicate(timeout=SECONDS)[0].split() for process in processes]
    for branch in branches:
        assert [message.id for message in store.history(session.id, branch[-1])] == [session.head, *branch]
    record = store.find(session.id)
    assert record.messages == 1 + 3 * 40
    assert record.head in {branch[-1] for branch in branches}


def test_nothing_that_was_acknowledged_is_lost_to_kill_9(store: Store, path: Path) -> None:
    session = say(store, "root")
    parent_id, acknowledged = str(session.head), [str(session.head)]
    chance = random.Random(42)
    for _ in range(15):
        with python(APPENDER, path, session.id, parent_id, 1_000_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(chance.randrange(1, 60))]
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        # A line may be cut: what was not read whole was not acknowledged.
        acknowledged += [line.strip() for line in lines if line.endswith("\n")]
        parent_id = acknowledged[-1]
        with closing(Store.open(path)) as reopened:
            assert [message.id for message in reopened.history(session.id, parent_id)] == acknowledged
            # One more may be in it: durable, but killed before it was printed.
            assert len(reopened.catalogue.search("message", limit=10**6)) == reopened.find(session.id).messages - 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


LIGHT = """
import sys
from pathlib import Path
before = set(sys.modules)
from marvin_server.messages import user_message
from marvin_server.session.store import Store
store = Store.open(Path(sys.argv[1]))
store.append(store.create_session("/", "p", "m").id, user_message("hi"), None)
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""


def test_writing_imports_little_beyond_the_standard_library(path: Path) -> None:
    out, _ = python(LIGHT, path).communicate(timeout=SECONDS)
    assert out == "['marvin_server', 'msgspec', 'typing_extensions']\n"
