"""A session's title: the first prompt, or what a model makes of a long one after the first answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.providers import selection
from marvin_server.session import titles
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.servers.model_server import ModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import says, status
from tests.session.turns import finish

LONG = "Please look at the whole shop and tell me why the sum of an empty basket comes out wrong on Sundays"
Session = tuple[OpenSession, "asyncio.Task[None]"]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
def begin(server: ModelServer, store: Store, workspace: Path, tmp_path: Path) -> Callable[..., Session]:
    """Begins a session whose title is seen to."""

    def make(*replies: Reply, **flags: Any) -> Session:
        server.play(replies)
        environ = {
            "MARVIN_HOME": str(tmp_path / "home"),
            "OPENAI_COMPAT_URL": server.url,
            "OPENAI_COMPAT_MODEL": "test-model",
        }
        loaded = settings.load({"provider": "openai-compat", **flags}, environ)
        opened = open_session(loaded, selection.choose(loaded), store, workspace, rounds=50)
        return opened, asyncio.create_task(titles.follow(opened, store, loaded))

    return make


async def say(opened: OpenSession, prompt: str) -> None:
    events = opened.session.subscribe()
    await asyncio.sleep(0)
    opened.session.submit(prompt)
    await finish(events)


async def ended(session: Session) -> None:
    opened, following = session
    async with asyncio.timeout(60):
        await following
    await opened.session.close()
    await opened.ledger.aclose()


async def test_a_long_prompt_gets_a_title_of_the_models_after_the_first_answer(
    begin: Callable[..., Session], server: ModelServer, store: Store
) -> None:
    session = begin(says("Because of the calendar."), says('"Empty basket on Sundays."\nHere you are.'))
    await say(session[0], LONG)
    assert store.find(session[0].session.id).title.startswith("Please look at the whole shop")
    await ended(session)
    assert store.find(session[0].session.id).title == "Empty basket on Sundays"
    _, asked = server.requests
    assert "tools" not in asked.json
    assert asked.json["messages"][-1]["content"] == (f"The person:\n{LONG}\n\nThe answer:\nBecause of the calendar.")
    assert store.spending.of_session(session[0].session.id)[0].requests == 2
    assert len(store.history(session[0].session.id)) == 2


async def test_a_title_is_of_the_first_turn_although_the_next_one_has_begun(
    begin: Callable[..., Session], server: ModelServer, store: Store
) -> None:
    session = begin(says("Because."), says("Baskets"), says("Baskets"))
    opened, _ = session
    events = opened.session.subscribe()
    await asyncio.sleep(0)
    opened.session.submit(LONG)
    opened.session.submit("And on Mondays?", "queue")
    await finish(events)
    await ended(session)
    assert store.find(opened.session.id).title == "Baskets"
    last = [request.json["messages"][-1]["content"] for request in server.requests]
    assert f"The person:\n{LONG}\n\nThe answer:\nBecause." in last


async def test_the_small_model_makes_it_where_one_is_set(begin: Callable[..., Session], server: ModelServer) -> None:
    session = begin(says("Because."), says("Baskets"), small_model="tiny-model")
    await say(session[0], LONG)
    await ended(session)
    assert [request.json["model"] for request in server.requests] == ["test-model", "tiny-model"]


@pytest.mark.parametrize(
    ("prompt", "flags"), [("Why is it wrong?", {}), (LONG, {"titles": False})], ids=["short", "switched off"]
)
async def test_no_model_is_asked_where_the_prompt_will_do(
    begin: Callable[..., Session], server: ModelServer, store: Store, prompt: str, flags: dict[str, Any]
) -> None:
    session = begin(says("Because."), says("Baskets"), **flags)
    await say(session[0], prompt)
    await ended(session)
    assert len(server.requests) == 1
    assert store.find(session[0].session.id).title.startswith(prompt[:40])


async def test_a_title_that_the_person_gave_is_never_changed(
    begin: Callable[..., Session], server: ModelServer, store: Store
) -> None:
    session = begin(says("Because."), says("Baskets", gated=True))
    await say(session[0], LONG)
    await server.wait_for_request(2)
    store.catalogue.rename(session[0].session.id, "Mine")
    server.release(100)
    await ended(session)
    assert store.find(session[0].session.id).title == "Mine"


async def test_no_model_is_asked_where_the_person_has_given_a_title(
    begin: Callable[..., Session], server: ModelServer, store: Store
) -> None:
    session = begin(says("Because."), says("Baskets"))
    store.catalogue.rename(session[0].session.id, "Mine")
    await say(session[0], LONG)
    await ended(session)
    assert len(server.requests) == 1


async def test_a_model_that_fails_leaves_the_prompt_as_the_title(begin: Callable[..., Session], store: Store) -> None:
    session = begin(says("Because."), status(500))
    await say(session[0], LONG)
    await ended(session)
    assert store.find(session[0].session.id).title.startswith("Please look at")


@pytest.mark.parametrize(
    "answer",
    ["Baskets \x1b]0;of Sundays\x07", "Baskets\u202eof", "B" * 101, "<think>Which name?", "", "  \n\n "],
    ids=["escapes", "reordering", "long", "thoughts alone", "empty", "blank"],
)
async def test_what_is_no_title_leaves_the_prompt_as_the_title(
    begin: Callable[..., Session], store: Store, answer: str
) -> None:
    session = begin(says("Because."), says(answer))
    await say(session[0], LONG)
    await ended(session)
    assert store.find(session[0].session.id).title.startswith("Please look at")


async def test_thoughts_before_a_title_are_not_in_it(begin: Callable[..., Session], store: Store) -> None:
    session = begin(says("Because."), says("<think>\nWhich name?\n</think>\n\n**Baskets**\n"))
    await say(session[0], LONG)
    await ended(session)
    assert store.find(session[0].session.id).title == "Baskets"
