"""While a summary is written: prompts wait for it, and a cancellation meets it before it holds or not at all."""

import asyncio
from pathlib import Path

import pytest

from marvin_server.errors import UsageError
from marvin_server.events import Compacted
from marvin_server.session.opening import OpenSession
from marvin_server.session.store import Store
from tests.agent.scripted import Hang, call
from tests.patience import SECONDS
from tests.session.talker import SHORT, SUMMARY, Talker, talk
from tests.session.turns import Opener, finish, stop, wait_for


async def writing(opened: OpenSession, provider: Talker) -> asyncio.Task[Compacted]:
    """A summary that is being written and does not end by itself."""
    hang = Hang()
    provider.summary = [hang]
    compacting = asyncio.create_task(opened.session.compact())
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
    return compacting


async def test_while_a_summary_is_written_no_turn_begins_and_closing_ends_it(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    compacting = await writing(opened, provider)
    with pytest.raises(UsageError, match="summarised"):
        opened.session.submit("Now?")
    with pytest.raises(UsageError, match="summarised"):
        await opened.session.take_back_summary()
    await opened.session.close()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    assert store.compactions.holding(store.find(opened.session.id).head) is None


async def test_a_cancellation_meets_a_summary_before_it_holds_or_not_at_all(
    opener: Opener, store: Store, workspace: Path
) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, 40 * SHORT)
    compacting = await writing(opened, provider)
    assert opened.session.cancel()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    assert store.compactions.holding(store.find(opened.session.id).head) is None
    provider.summary = [SUMMARY]
    subscription = opened.session.subscribe()
    compacting = asyncio.ensure_future(opened.session.compact())
    held = await wait_for(subscription, Compacted)
    compacting.cancel()
    assert await compacting == held
    assert "Prompt 1" in (workspace / ".marvin" / "memories" / "INDEX.md").read_text()


async def test_a_cancelled_turn_keeps_the_backup_of_its_summary(opener: Opener, store: Store, workspace: Path) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, 40 * SHORT)
    provider.add([call("compact_history")], ["Never said."])
    subscription = opened.session.subscribe()
    opened.session.submit("Make room.")
    await wait_for(subscription, Compacted)
    opened.session.cancel()
    assert stop(await finish(subscription)) == ("cancelled", None)
    assert "Prompt 1" in (workspace / ".marvin" / "memories" / "INDEX.md").read_text()


async def test_a_prompt_that_is_queued_meanwhile_is_answered_afterwards(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    compacting = await writing(opened, provider)
    subscription = opened.session.subscribe()
    provider.add(["Now."])
    opened.session.submit("And now?", "queue")
    compacting.cancel()
    assert stop(await finish(subscription)) == ("completed", None)
    assert store.history(opened.session.id)[-1].text == "Now."
