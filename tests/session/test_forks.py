"""Sessions that share entries with the one that they come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import StoreError
from marvin_server.messages import Message, Text, ToolCall, ToolResult, new_id, user_message
from marvin_server.session.store import Store


def a_round(call_id: str) -> list[Message]:
    """A prompt, a tool call, its result and an answer."""
    return [
        user_message("go"),
        Message("assistant", (ToolCall(call_id, "tree", "{}"),), id=new_id()),
        Message("tool", (ToolResult(call_id, "tree", "all"),), id=new_id()),
        Message("assistant", (Text("done"),), id=new_id()),
    ]


def begun(store: Store, messages: list[Message]) -> str:
    session_id = store.create_session("/w", "p", "m", "title").id
    parent: str | None = None
    for message in messages:
        store.append(session_id, message, parent)
        parent = message.id
    return session_id


def test_a_fork_shares_everything_or_what_leads_to_an_item(store: Store) -> None:
    said = [*a_round("call_1"), *a_round("call_1")]
    origin = begun(store, said)
    for at, count in ((None, 8), (said[0].id, 1), (said[1].id, 3), (said[2].id, 3), (said[3].id, 4), ("call_1", 7)):
        record = store.find(store.catalogue.fork(origin, at))
        assert store.history(record.id) == said[:count]
        assert (record.parent_id, record.title, record.messages) == (origin, "title", count)
        assert [entry["id"] for entry in store.export(record.id)["entries"]] == [each.id for each in said[:count]]
    with pytest.raises(StoreError, match="no item 'nothing'"):
        store.catalogue.fork(origin, "nothing")


def test_an_item_of_another_session_is_none_of_this_one(store: Store) -> None:
    said = a_round("call_1")
    other = begun(store, a_round("call_2"))
    begun(store, said)
    with pytest.raises(StoreError, match="no item"):
        store.catalogue.fork(other, said[0].id)


def test_an_empty_session_can_be_forked(store: Store) -> None:
    assert store.history(store.catalogue.fork(begun(store, []))) == []


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans()), max_size=6),
    st.permutations(range(7)),
)
def test_deleting_sessions_in_any_order_takes_nothing_from_the_others(
    tmp_path_factory: pytest.TempPathFactory, forks: list[tuple[int, int, bool]], order: list[int]
) -> None:
    store = Store.open(tmp_path_factory.mktemp("forks") / "marvin.db")
    sessions = [begun(store, a_round("call_1"))]
    for source, at, goes_on in forks:
        origin = sessions[source % len(sessions)]
        history = store.history(origin)
        sessions.append(store.catalogue.fork(origin, history[at % len(history)].id))
        if goes_on:
            store.append(sessions[-1], user_message("more"), store.history(sessions[-1])[-1].id)
    whole = {session_id: store.history(session_id) for session_id in sessions}
    for number in order:
        if number < len(sessions):
            store.catalogue.delete(sessions[number])
            del whole[sessions[number]]
            assert {session_id: store.history(session_id) for session_id in whole} == whole
    assert store.catalogue.search("done") == []
    assert store.sessions() == []
    store.close()
