"""Several processes on one session: who is at work in it, what the others see, and who may answer."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_server.agent.permissions import Answer
from marvin_server.errors import SessionOwned, UsageError
from marvin_server.events import (
    Command,
    Event,
    MessageFinished,
    Permission,
    PermissionRequested,
    PermissionResolved,
    TurnFinished,
    TurnStarted,
)
from marvin_server.messages import Message, ToolResult, new_id, user_message
from marvin_server.session.store import Store
from marvin_server.session.subscription import Subscription
from tests.agent.scripted import Hang, Scripted, call
from tests.patience import SECONDS
from tests.session.turns import Opener

ROOT = Path(__file__).parents[2]


class Other:
    """Another process on the same store; each line that it is told is a statement, and it prints what that gives."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER, path], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def do(self, expression: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{expression}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)


OTHER = """
import sys
from pathlib import Path
from marvin_server.events import *
from marvin_server.messages import *
from marvin_server.session.store import Store
store = Store.open(Path(sys.argv[1]))
for line in sys.stdin:
    try:
        print(repr(eval(line)), flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
"""


@pytest.fixture
def other(store: Store, path: Path) -> Iterator[Other]:
    other = Other(path)
    yield other
    other.kill()
    for stream in (other.process.stdin, other.process.stdout):
        if stream:
            stream.close()


async def until(subscription: Subscription, kind: type[Event]) -> list[Event]:
    """The events up to the first of this kind."""
    seen: list[Event] = []
    async with asyncio.timeout(SECONDS):
        async for _, event in subscription:
            seen.append(event)
            if isinstance(event, kind):
                return seen
    raise AssertionError(f"the session was closed; so far: {seen}")


async def asked(subscription: Subscription) -> Permission:
    event = (await until(subscription, PermissionRequested))[-1]
    assert isinstance(event, PermissionRequested)
    return event.permission


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def test_one_process_at_a_time_owns_a_session(store: Store, other: Other) -> None:
    one, two = (store.create_session("/", "p", "m").id for _ in range(2))
    assert store.own(one) is None
    assert other.do(f"store.own({one!r})").startswith("SessionOwned: another marvin (process ")
    assert other.do(f"store.own({two!r})") == "None"
    assert other.do(f"store.leases.is_elsewhere({one!r}), store.leases.is_here({one!r})") == "(True, False)"
    assert [store.leases.is_elsewhere(each) for each in (one, two)] == [False, True]
    with pytest.raises(SessionOwned, match=f"process {other.process.pid}"):
        store.own(two)
    with pytest.raises(SessionOwned, match="a turn is at work"):
        store.own(one)
    store.disown(one)
    store.disown(one)
    assert other.do(f"store.own({one!r})") == "None"
    other.kill()
    for each in (one, two):
        store.own(each)


def test_reading_beside_lets_go_of_nothing(store: Store, other: Other) -> None:
    session_id = store.create_session("/", "p", "m").id
    store.own(session_id)
    with store.beside() as beside:
        assert beside.find(session_id).id == session_id
    assert other.do(f"store.own({session_id!r})").startswith("SessionOwned")


async def test_a_session_is_owned_while_a_turn_runs_and_goes_on_from_what_others_have_said(
    opener: Opener, store: Store, other: Other
) -> None:
    hang = Hang()
    provider = Scripted(["Hello"], ["And hello"], [hang])
    opened = opener(provider)
    session_id = opened.session.id
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    assert other.do(f"store.own({session_id!r})").startswith("SessionOwned")
    await until(subscription, TurnFinished)
    assert other.do(f"store.own({session_id!r}) == {store.find(session_id).head!r}") == "True"
    says = "Message('user', (Text('theirs'),), id='a1')"
    other.do(f"store.append({session_id!r}, {says}, store.find({session_id!r}).head)")
    asks = "Message('assistant', (ToolCall('c9', 'read_file', '{}'),), id='a2')"
    other.do(f"store.append({session_id!r}, {asks}, 'a1')")
    with pytest.raises(SessionOwned):
        opened.session.submit("two")
    assert opened.session.running is None
    other.kill()
    opened.session.submit("two")
    await until(subscription, TurnFinished)
    sent = provider.requests[1].history
    assert texts(list(sent)) == ["one", "Hello", "theirs", "", "", "two"]
    assert [part.call_id for part in sent[4].parts if isinstance(part, ToolResult)] == ["c9"]
    assert texts(store.history(session_id)) == ["one", "Hello", "theirs", "", "", "two", "And hello"]
    opened.session.submit("three")
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
    assert texts(list(provider.requests[2].history)) == [*texts(list(sent)), "And hello", "three"]
    await opened.session.close()


@pytest.mark.parametrize("when_busy", ["queue", "steer"])
async def test_a_prompt_waits_until_another_process_has_finished(
    opener: Opener, store: Store, other: Other, when_busy: Any
) -> None:
    opened = opener(Scripted(["Hello"], ["Again"]))
    session_id = opened.session.id
    other.do(f"store.own({session_id!r})")
    subscription = opened.session.subscribe()
    first = opened.session.submit("one", when_busy)
    dropped = opened.session.submit("never", when_busy)
    second = opened.session.submit("two", when_busy)
    with pytest.raises(SessionOwned, match="queue this one, too"):
        opened.session.submit("no")
    assert opened.session.cancel(dropped)
    assert (opened.session.running, len(store.drafts.left())) == (None, 0)
    other.do(f"store.append({session_id!r}, user_message('theirs'), None)")
    other.do(f"store.disown({session_id!r})")
    events = [*await until(subscription, TurnStarted), *await until(subscription, TurnFinished)]
    events += await until(subscription, TurnFinished)
    assert [event.turn_id for event in events if isinstance(event, TurnStarted)] == [first, second]
    assert texts(store.history(session_id)) == ["theirs", "one", "Hello", "two", "Again"]
    await opened.session.close()
    assert store.drafts.left() == []


async def test_prompts_that_still_wait_at_the_end_are_drafts_and_start_nothing(opener: Opener, store: Store) -> None:
    provider = Scripted([Hang()])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    await until(subscription, MessageFinished)
    opened.session.submit("steered", "steer")
    opened.session.submit("queued", "queue")
    assert store.drafts.left() == []
    await opened.session.close()
    left = store.drafts.left(opened.session.id)
    assert [(draft.session_id, draft.message.text) for draft in left] == [
        (opened.session.id, "steered"),
        (opened.session.id, "queued"),
    ]
    again = opener(Scripted(["Hi"]), resume=opened.session.id)
    assert [line for line in again.warnings if "never started" in line] == [
        "this was queued and never started: 'steered' (marvin sessions drafts)",
        "this was queued and never started: 'queued' (marvin sessions drafts)",
    ]
    store.drafts.drop(left[0].id)
    assert store.drafts.left() == left[1:]
    store.catalogue.delete(opened.session.id)
    assert store.drafts.left() == []


def test_a_prompt_that_was_started_is_no_draft_whenever_its_process_died(store: Store, other: Other) -> None:
    session_id = store.create_session("/", "p", "m").id
    message, keeper = user_message("go"), new_id()
    other.do(f"store.leases.take({keeper!r})")
    other.do(f"store.drafts.keep({session_id!r}, {keeper!r}, Message('user', (Text('go'),), id={message.id!r}))")
    assert store.drafts.left() == []
    other.kill()
    (draft,) = store.drafts.left()
    assert (draft.id, draft.session_id, draft.message) == (message.id, session_id, message)
    store.append(session_id, message, None)
    assert store.drafts.left() == []


async def test_another_process_sees_a_question_and_its_answer_counts(
    opener: Opener, store: Store, other: Other, tmp_path: Path
) -> None:
    provider = Scripted([call("run_command", '{"command": "touch made"}')], ["ok"])
    opened = opener(provider)
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    permission = await asked(subscription)
    listed = other.do(f"[q.permission == {permission!r} for q in store.questions.open({opened.session.id!r})]")
    assert listed == "[True]"
    assert store.questions.open()[0].permission == permission
    answer = f"store.questions.answer({permission.id!r}, 'allow_once', 'terminal', note='Mind the gap')"
    assert other.do(answer) == "True"
    assert other.do(answer) == "False"
    assert not opened.session.answer(permission.id, "deny")
    events = await until(subscription, TurnFinished)
    resolved = [event for event in events if isinstance(event, PermissionResolved)]
    assert resolved == [PermissionResolved(permission.id, "allow_once", "terminal")]
    assert (tmp_path / "workspace" / "made").exists()
    assert "Mind the gap" in texts(list(provider.requests[1].history))
    assert store.questions.open() == []
    assert other.do(answer) == "False"


async def test_an_answer_here_comes_before_one_from_another_process(
    opener: Opener, other: Other, tmp_path: Path
) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    permission = await asked(subscription)
    assert opened.session.answer(permission.id, "deny")
    assert other.do(f"store.questions.answer({permission.id!r}, 'allow_once', 'terminal')") == "False"
    await until(subscription, TurnFinished)
    assert not (tmp_path / "workspace" / "made").exists()


async def test_a_yes_to_anything_else_than_what_was_put_is_a_no(
    opener: Opener, path: Path, other: Other, tmp_path: Path
) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    permission = await asked(subscription)
    forged = "UPDATE questions SET permission = replace(permission, 'touch made', 'true')"
    with closing(sqlite3.connect(path, isolation_level=None)) as forger:
        forger.execute(forged)
    assert other.do(f"store.questions.answer({permission.id!r}, 'allow_once', 'terminal')") == "True"
    events = await until(subscription, TurnFinished)
    resolved = [event for event in events if isinstance(event, PermissionResolved)]
    assert resolved == [PermissionResolved(permission.id, "deny", "terminal")]
    assert not (tmp_path / "workspace" / "made").exists()


@pytest.mark.parametrize("end", ["cancel", "close"])
async def test_cancel_and_close_take_the_question_down(opener: Opener, other: Other, end: str) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    permission = await asked(subscription)
    if end == "cancel":
        opened.session.cancel()
        await until(subscription, TurnFinished)
    else:
        await opened.session.close()
    assert other.do(f"store.questions.answer({permission.id!r}, 'allow_once', 'terminal')") == "False"
    assert other.do("store.questions.open()") == "[]"


QUESTION = Permission("q1", "command", "x", "why", "rule", command=Command("x \udcff", "/bin/bash", "/"))


def test_questions_of_a_process_that_died_are_neither_shown_nor_answered_and_go(store: Store, other: Other) -> None:
    session_id = store.create_session("/", "p", "m").id
    other.do(f"store.own({session_id!r})")
    other.do(f"store.questions.put({session_id!r}, {QUESTION!r})")
    (question,) = store.questions.open()
    assert (question.session_id, question.permission.id) == (session_id, "q1")
    with pytest.raises(UsageError, match="this question takes allow_once, "):
        store.questions.answer("q1", "allow_edited", "terminal", "y")
    other.kill()
    assert not store.questions.answer("q1", "allow_once", "terminal")
    assert (store.questions.open(), store.questions.open(session_id)) == ([], [])
    assert store.questions.claim("q1") is False


def test_a_new_owner_does_not_inherit_questions(store: Store, other: Other) -> None:
    session_id = store.create_session("/", "p", "m").id
    other.do(f"store.own({session_id!r})")
    other.do(f"store.questions.put({session_id!r}, {QUESTION!r})")
    assert other.do("store.questions.answer('q1', 'allow_once', 'terminal')") == "True"
    other.kill()
    store.own(session_id)
    assert store.questions.answers(session_id) == {}


def test_what_is_no_decision_counts_as_a_no(store: Store, path: Path) -> None:
    session_id = store.create_session("/", "p", "m").id
    store.own(session_id)
    digest = store.questions.put(session_id, QUESTION)
    assert store.questions.answer("q1", "allow_once", "terminal", None, "n")
    assert store.questions.answers(session_id) == {"q1": (Answer("allow_once", "terminal", None, "n"), digest)}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE questions SET decision = 'yes'")
    assert store.questions.answers(session_id)["q1"][0].decision == "deny"


async def test_a_cost_limit_counts_what_other_processes_have_spent_in_the_session(opener: Opener, other: Other) -> None:
    opened = opener(Scripted(["Hello"], ["never"]), max_cost=1.0)
    subscription = opened.session.subscribe()
    opened.session.submit("one")
    await until(subscription, TurnFinished)
    other.do(f"store.spending.record({opened.session.id!r}, 'p', 'm', Usage(1, 1), Charge(1.5))")
    opened.session.submit("two")
    end = (await until(subscription, TurnFinished))[-1]
    assert isinstance(end, TurnFinished)
    assert end.stop_reason == "budget"
