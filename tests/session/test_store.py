import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from marvin_server.errors import StoreError
from marvin_server.messages import Charge, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage, user_message
from marvin_server.session.catalogue import Hit
from marvin_server.session.steps import KeptStep, Step
from marvin_server.session.store import SessionRecord, Store
from marvin_server.session.usage import ModelUsage

EVERY_PART = (
    Message("user", (Text("Look: ü 👍 \0 end"), Image("image/png", "aGk="))),
    Message(
        "assistant",
        (Thinking("Hm."), Text("I read it."), ToolCall("c1", "read_file", '{"path": "a"}')),
        finish="tool_calls",
        provider="openai",
        model="gpt-4o",
        usage=Usage(10, 5, 3, 1),
        vendor={"signature": "abc", "nested": [{"x": 1.5, "y": None}]},
    ),
    Message("tool", (ToolResult("c1", "read_file", "text", "error", (Image("image/png", "aGk="),)),)),
    Message("assistant", (Text("Done."),), finish="stop"),
)


def append_all(store: Store, session_id: str, *messages: Message) -> None:
    parent_id = None
    for message in messages:
        store.append(session_id, message, parent_id)
        parent_id = message.id


def say(store: Store, text: str, cwd: str = "/work", title: str = "") -> SessionRecord:
    session = store.create_session(cwd, "openai", "gpt-4o", title)
    store.append(session.id, user_message(text), None)
    return store.find(session.id)


def test_a_fresh_store_and_its_folders_are_private(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "default" / "marvin.db"
    with closing(Store.open(path)) as store:
        assert store.sessions() == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_every_kind_of_message_comes_back_as_it_was(store: Store, path: Path) -> None:
    session = store.create_session("/work", "openai", "gpt-4o")
    append_all(store, session.id, *EVERY_PART)
    assert store.history(session.id) == list(EVERY_PART)
    with closing(Store.open(path)) as again:
        assert again.history(session.id) == list(EVERY_PART)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored_and_only_broken_unicode_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    with closing(Store.open(tmp_path_factory.getbasetemp() / "any-text.db")) as store:
        session = store.create_session(text, "p", "m", text)
        message = Message("user", (Text(text), ToolCall(text, text, text)), vendor={"x": text})
        store.append(session.id, message, None)
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        expected = (Text(whole), ToolCall(whole, whole, whole))
        stored = store.history(session.id)[0]
        assert (stored.parts, stored.vendor) == (expected, {"x": whole})
        latest = store.latest(text)
        assert latest is not None
        assert latest.id == session.id
        store.catalogue.search(text)
        store.sessions(query=text)


def test_a_session_records_its_head_title_and_latest_model(store: Store) -> None:
    session = store.create_session("/work", "openai", "gpt-4o")
    assert store.find(session.id) == session
    prompt = user_message("  Why is\nthe sky blue?  " + "Tell me all about it. " * 10)
    answer = Message("assistant", (Text("Rayleigh."),), provider="groq", model="llama")
    append_all(store, session.id, prompt, answer, user_message("And red?"))
    record = store.find(session.id)
    assert record == SessionRecord(
        id=session.id,
        title="Why is the sky blue? Tell me all about it. Tell me all about it. Tell me all ab…",
        cwd="/work",
        provider="groq",
        model="llama",
        created_at=session.created_at,
        updated_at=record.updated_at,
        head=record.head,
        parent_id=None,
        messages=3,
    )
    assert record.updated_at > session.created_at
    assert [message.id for message in store.history(session.id)][-1] == record.head


def test_a_title_that_was_given_stays(store: Store) -> None:
    assert say(store, "hello", title="Greetings").title == "Greetings"


def test_a_session_is_a_tree_and_its_history_is_one_path(store: Store) -> None:
    session = store.create_session("/work", "p", "m")
    root, left, right = (user_message(text) for text in ("root", "left", "right"))
    store.append(session.id, root, None)
    store.append(session.id, left, root.id)
    store.append(session.id, right, root.id)
    assert store.history(session.id) == [root, right]
    assert store.history(session.id, left.id) == [root, left]
    assert store.find(session.id).messages == 3


def test_a_session_may_grow_from_an_entry_of_another(store: Store) -> None:
    first = say(store, "root")
    fork = store.create_session("/work", "p", "m", parent_id=first.id)
    branch = user_message("another way")
    store.append(fork.id, branch, first.head)
    assert [message.text for message in store.history(fork.id)] == ["root", "another way"]
    assert [message.text for message in store.history(first.id)] == ["root"]
    assert store.find(fork.id).parent_id == first.id


def test_a_call_without_a_result_gets_one_when_it_is_read(store: Store) -> None:
    session = store.create_session("/work", "p", "m")
    calls = Message("assistant", (ToolCall("a", "tree", "{}"), ToolCall("b", "run_command", "{}")))
    append_all(store, session.id, user_message("go"), calls)
    text = "interrupted: Marvin was stopped before this call finished; its effect is unknown"
    results = (ToolResult("a", "tree", text, "cancelled"), ToolResult("b", "run_command", text, "cancelled"))
    *_, made_up = store.history(session.id)
    assert (made_up.role, made_up.parts) == ("tool", results)
    assert store.find(session.id).messages == 2

    store.append(session.id, user_message("go on"), made_up.id)
    history = store.history(session.id)
    assert [message.role for message in history] == ["user", "assistant", "tool", "user"]
    assert history[2] == made_up


def test_a_call_that_only_some_results_answer_gets_the_others_in_the_same_message(store: Store) -> None:
    session = store.create_session("/work", "p", "m")
    calls = Message("assistant", (ToolCall("a", "tree", "{}"), ToolCall("b", "run_command", "{}")))
    answer = Message("tool", (ToolResult("b", "run_command", "done"),))
    append_all(store, session.id, user_message("go"), calls, answer, Message("assistant", (Text("ok"),)))
    history = store.history(session.id)
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
    results = [part for part in history[2].parts if isinstance(part, ToolResult)]
    assert [(result.call_id, result.status) for result in results] == [("b", "ok"), ("a", "cancelled")]


def test_sessions_are_listed_by_their_latest_change_and_filtered_by_folder_and_words(store: Store) -> None:
    one, two, three = say(store, "alpha beta"), say(store, "beta gamma", "/other"), say(store, "delta", title="Beta")
    store.append(one.id, user_message("more"), one.head)
    assert [session.id for session in store.sessions()] == [one.id, three.id, two.id]
    assert [session.id for session in store.sessions(limit=1)] == [one.id]
    assert [session.id for session in store.sessions("/work")] == [one.id, three.id]
    assert [session.id for session in store.sessions(query="beta")] == [one.id, three.id, two.id]
    assert [session.id for session in store.sessions(query="alpha bet")] == [one.id]
    assert store.latest("/other") == two
    assert store.latest("/nowhere") is None


def test_an_ephemeral_session_is_in_no_list_and_is_found_by_its_id(store: Store) -> None:
    session = store.create_session("/w", "p", "m", "Zaphod", keeper="a-lease")
    store.append(session.id, user_message("Trillian"), None)
    fork = store.catalogue.fork(session.id, keeper="another")
    assert (store.sessions(), store.sessions(query="Zaphod"), store.latest("/w")) == ([], [], None)
    assert store.catalogue.search("Trillian") == []
    assert store.find(session.id).title == "Zaphod"
    assert store.catalogue.ephemeral() == {session.id: "a-lease", fork: "another"}


def test_a_session_is_found_by_its_id_or_the_start_of_it(store: Store) -> None:
    session = say(store, "hello")
    assert store.find(session.id) == session
    assert store.find(session.id[:20]) == session
    with pytest.raises(StoreError, match="too short"):
        store.find(session.id[:5])
    with pytest.raises(StoreError, match="no session 'ffffff'"):
        store.find("ffffff")
    with pytest.raises(StoreError, match="no session '%%%%%%'"):
        store.find("%%%%%%")


def test_an_ambiguous_start_of_an_id_lists_the_sessions_that_it_may_be(store: Store) -> None:
    ids = {say(store, "hello").id for _ in range(2)}
    with pytest.raises(StoreError, match="several sessions") as caught:
        store.find(min(ids)[:6])
    assert all(session_id in str(caught.value) for session_id in ids)


def test_a_search_finds_messages_by_the_starts_of_their_words_best_first(store: Store) -> None:
    long = say(store, "filler " * 200 + "a kangaroo at last", title="Long")
    short = say(store, "Kangaroos!", title="Short")
    say(store, "nothing of the kind")
    hits = store.catalogue.search("kangaroo")
    assert [hit.session_id for hit in hits] == [short.id, long.id]
    assert hits[0] == Hit(short.id, str(short.head), "Short", "Kangaroos!")
    assert hits[1].snippet.startswith("…")
    assert hits[1].snippet.endswith("a kangaroo at last")
    assert [hit.title for hit in store.catalogue.search("last KANGAROO")] == ["Long"]
    assert len(store.catalogue.search("kangaroo", limit=1)) == 1


@pytest.mark.parametrize(
    "query", ["", '"', "-", "*", "NEAR(", "text:", "a AND", "^", "(", "a\0b", '" OR 1 --', "\ud800"]
)
def test_a_search_for_signs_finds_nothing_and_is_no_error(store: Store, query: str) -> None:
    say(store, "hello")
    assert store.catalogue.search(query) == []


def test_usage_adds_up_by_model_and_keeps_unknown_prices_apart(store: Store) -> None:
    one, two = say(store, "one"), say(store, "two")
    store.spending.record(one.id, "openai", "gpt-4o", Usage(100, 10, 50, 5), Charge(0.5, 0.125))
    store.spending.record(one.id, "vllm", "mystery", Usage(1, 1), Charge(None))
    store.spending.record(two.id, "openai", "gpt-4o", Usage(1, 1), Charge(0.25))
    mystery = ModelUsage(1, Usage(1, 1), 0.0, 1, provider="vllm", model="mystery")
    once = ModelUsage(1, Usage(100, 10, 50, 5), 0.5, saved=0.125, provider="openai", model="gpt-4o")
    twice = ModelUsage(2, Usage(101, 11, 50, 5), 0.75, saved=0.125, provider="openai", model="gpt-4o")
    assert store.spending.of_session(one.id) == [once, mystery]
    assert store.spending.by_model() == [twice, mystery]
    assert store.spending.of_session("none") == []


def test_an_export_holds_the_whole_session_as_json(store: Store) -> None:
    session = store.create_session("/work", "p", "m", "Title")
    prompt = user_message("hello")
    store.append(session.id, prompt, None)
    store.spending.record(session.id, "p", "m", Usage(3, 2), Charge(None))
    exported = store.export(session.id)
    assert json.loads(json.dumps(exported)) == exported
    record = store.find(session.id)
    assert exported == {
        "session": {
            "id": session.id,
            "title": "Title",
            "cwd": "/work",
            "provider": "p",
            "model": "m",
            "created_at": session.created_at,
            "updated_at": record.updated_at,
            "head": prompt.id,
            "parent_id": None,
            "messages": 1,
        },
        "entries": [
            {
                "id": prompt.id,
                "parent_id": None,
                "kind": "message",
                "at": record.updated_at,
                "body": {"role": "user", "parts": [{"text": "hello", "type": "text"}], "id": prompt.id},
            }
        ],
        "usage": [
            {
                "provider": "p",
                "model": "m",
                "requests": 1,
                "usage": {"input": 3, "output": 2, "cache_read": 0, "cache_write": 0},
                "cost": 0.0,
                "unpriced": 1,
                "saved": 0.0,
            }
        ],
    }


def test_an_unknown_session_or_entry_is_a_store_error(store: Store) -> None:
    with pytest.raises(StoreError, match="no session 'nobody'"):
        store.history("nobody")
    with pytest.raises(StoreError, match="no session 'nobody'"):
        store.export("nobody")
    session = say(store, "hello")
    with pytest.raises(StoreError, match="no entry nothing"):
        store.history(session.id, "nothing")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.append(session.id, user_message("x"), "nothing")
    assert store.find(session.id) == session


def test_steps_are_kept_in_order_and_those_that_change_nothing_are_forgotten(store: Store) -> None:
    one, two = say(store, "one").id, say(store, "two").id
    first = Step(one, "t1", "command", "/work", "a")
    second = Step(two, "t2", "edit", "/other", "a", "b")
    ids = [store.steps.begin(step) for step in (first, second, first)]
    store.steps.end(ids[2], "a")
    kept = KeptStep(*astuple(first), id=ids[0]), KeptStep(*astuple(second), id=ids[1])
    assert store.steps.all() == list(kept)
    assert (store.steps.all(session_id=two), store.steps.all(root="/work")) == ([kept[1]], [kept[0]])
    store.steps.forget("/work", days=30, most=1)
    assert store.steps.all() == list(kept)
    store.steps.forget("/work", days=30, most=0)
    assert store.steps.all() == [kept[1]]
    store.steps.forget("/other", days=-1, most=9)
    assert store.steps.all() == []
