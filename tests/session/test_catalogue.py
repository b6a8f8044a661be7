"""What front-ends read of stored sessions, and change of them as a whole."""

import pytest

from marvin_server.errors import NoSession, StoreError
from marvin_server.messages import Charge, Message, Text, ToolCall, ToolResult, Usage, user_message
from marvin_server.session.steps import Step
from marvin_server.session.store import Store
from marvin_server.session.usage import Used


def say(store: Store, session_id: str, *texts: str) -> list[Message]:
    said = [user_message(text) for text in texts]
    parent: str | None = None
    for message in said:
        store.append(session_id, message, parent)
        parent = message.id
    return said


def test_a_page_ends_where_the_next_begins(store: Store) -> None:
    session = store.create_session("/w", "p", "m")
    said = say(store, session.id, *"abcde")
    pages = [store.pages.of(session.id, 2)]
    while pages[-1]:
        pages.append(store.pages.of(session.id, 2, pages[-1][0].message.id))
    assert [[entry.message for entry in page] for page in pages] == [said[3:], said[1:3], said[:1], []]
    assert [entry.parent_id for entry in store.pages.of(session.id, 9)] == [None, *(one.id for one in said[:-1])]


def call(call_id: str) -> Message:
    return Message("assistant", (ToolCall(call_id, "read_file", "{}"),))


def answer(call_id: str) -> Message:
    return Message("tool", (ToolResult(call_id, "read_file", "text"),))


def test_a_page_never_ends_between_tool_calls_and_their_results(store: Store) -> None:
    session = store.create_session("/w", "p", "m")
    said = [user_message("go"), call("a"), answer("a"), call("b"), answer("b"), Message("assistant", (Text("Done."),))]
    for parent, message in zip([None, *said], said, strict=False):
        store.append(session.id, message, parent and parent.id)
    pages = [store.pages.of(session.id, 1)]
    while pages[-1]:
        pages.append(store.pages.of(session.id, 1, pages[-1][0].message.id))
    assert [[entry.message for entry in page] for page in pages] == [said[5:], said[3:5], said[1:3], said[:1], []]
    parents = [None, said[0], said[1], said[1], said[3], said[3]]
    whole = store.pages.of(session.id, 9)
    assert [entry.parent_id for entry in whole] == [parent and parent.id for parent in parents]
    assert [entry for page in reversed(pages) for entry in page] == whole


def test_a_page_before_an_entry_that_does_not_lead_to_the_head_is_refused(store: Store) -> None:
    mine, other = (store.create_session("/w", "p", "m").id for _ in range(2))
    first, *_ = say(store, mine, "mine", "too")
    theirs, *_ = say(store, other, "theirs")
    branch = user_message("another branch")
    store.append(mine, branch, first.id)
    with pytest.raises(StoreError, match="no entry"):
        store.pages.of(mine, 5, theirs.id)
    assert [entry.message for entry in store.pages.of(mine, 5, branch.id)] == [first]


def test_an_empty_session_has_an_empty_page_and_what_is_not_there_is_said(store: Store) -> None:
    session = store.create_session("/w", "p", "m")
    assert store.pages.of(session.id, 5) == []
    with pytest.raises(NoSession):
        store.pages.of("nothing", 5)
    with pytest.raises(StoreError, match="no entry"):
        store.pages.of(session.id, 5, "nothing")


def test_a_session_is_renamed_and_archived(store: Store) -> None:
    session = store.create_session("/w", "p", "m")
    store.catalogue.rename(session.id, " another\ntitle ")
    store.catalogue.archive(session.id, archived=True)
    assert store.find(session.id).title == "another title"
    assert store.sessions(archived=False) == []
    store.catalogue.archive(session.id, archived=False)
    assert [one.id for one in store.sessions(archived=False)] == [session.id]


def test_a_deleted_session_leaves_nothing_but_what_it_cost_and_its_children_stay(store: Store) -> None:
    session = store.create_session("/w", "p", "m")
    child = store.create_session("/w", "p", "m", parent_id=session.id)
    say(store, session.id, "Zaphod", "Trillian")
    store.spending.record(session.id, "p", "m", Usage(1, 1), Charge(0.5))
    store.steps.begin(Step(session.id, "t", "edit", "/w", "before"))
    store.catalogue.delete(session.id)
    assert [(one.id, one.parent_id) for one in store.sessions()] == [(child.id, None)]
    assert (store.catalogue.search("Zaphod"), store.spending.of_session(session.id), store.steps.all()) == ([], [], [])
    assert store.spending.since() == Used(1, Usage(1, 1), 0.5)
    store.catalogue.delete(session.id)
