"""A conversation that becomes too long, or that the person wants shorter, goes on with a summary."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.errors import BadRequest, ContextOverflow, RateLimited
from marvin_server.events import Compacted, Event, Notice, Rejection
from marvin_server.messages import Message, ToolResult
from marvin_server.providers.selection import Choice
from marvin_server.session.context_report import report
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import call
from tests.session.memory_editor import MemoryEditor
from tests.session.talker import LONG, SHORT, SUMMARY, Talker, compactions, seen, talk
from tests.session.turns import Opener, stop, turn


@pytest.fixture
def context(tmp_path: Path) -> None:
    """A model that reads 16,000 tokens."""
    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {script-1: {context: 16000}}\n")


async def talk_until_summarised(opened: OpenSession, provider: Talker) -> list[Event]:
    """The events of the turn in which it happens."""
    for number in range(40):
        events = await talk(opened, provider, 1, f"{number} {LONG}")
        if compactions(events):
            return events
    raise AssertionError("it never happens")


async def test_before_the_request_that_would_be_too_long_a_model_summarises_what_is_older(
    opener: Opener, store: Store, context: None
) -> None:
    provider = Talker()
    opened = opener(provider)
    events = await talk_until_summarised(opened, provider)
    (compacted,) = compactions(events)
    assert (compacted.by, compacted.reason) == ("script-1", "budget")
    assert compacted.tokens_after < compacted.tokens_before
    assert stop(events) == ("completed", None)
    (summarised,), asked = provider.summarised, provider.requests[-1]
    assert "Prompt 0: 0 word" in summarised.history[0].text
    assert summarised.tools == ()
    assert SUMMARY in asked.history[0].text
    assert "Prompt 0: 0 word" in asked.history[0].text, "the person's first words are put back"
    whole = store.history(opened.session.id)
    assert len(whole) == 2 * len(provider.requests), "all of it is in the store"
    assert list(asked.history[1:]) == whole[compacted.replaced : -1]
    assert asked.history[1].id == compacted.keeps


@pytest.mark.parametrize("problem", [BadRequest("no summaries today"), None])
async def test_where_no_model_writes_one_the_summary_is_made_by_rules_and_the_turn_goes_on(
    opener: Opener, context: None, problem: BadRequest | None
) -> None:
    provider = Talker()
    provider.summary = [problem] if problem else [" "]
    opened = opener(provider)
    events = await talk_until_summarised(opened, provider)
    (compacted,) = compactions(events)
    note = "no summaries today" if problem else "the model said nothing"
    assert (compacted.by, compacted.note) == (None, note)
    assert stop(events) == ("completed", None)
    assert "## What the person asked for\n- Prompt 0: 0 word" in seen(provider)
    assert f"without a model ({note})" in "\n".join(e.text for e in events if isinstance(e, Notice))


async def test_a_later_summary_stands_for_the_earlier_one_too(opener: Opener, context: None) -> None:
    provider = Talker()
    opened = opener(provider)
    (first,) = compactions(await talk_until_summarised(opened, provider))
    (second,) = compactions(await talk_until_summarised(opened, provider))
    assert "[memory so far " in provider.summarised[-1].history[0].text
    assert SUMMARY in provider.summarised[-1].history[0].text
    summary = provider.requests[-1].history[0].text
    assert summary.count("Prompt 0: 0 word") == 1, "the first words are still those of the beginning"
    assert f"{first.replaced + second.replaced - 1} earlier messages" in summary


async def test_a_vendor_that_refuses_the_length_gets_a_shorter_conversation(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6)
    provider.add([ContextOverflow("too long", status=400)], ["Done."])
    events = await turn(opened, "And now?")
    (compacted,) = compactions(events)
    assert compacted.reason == "overflow"
    assert stop(events) == ("completed", None)
    assert "And now?" in seen(provider)
    assert [message.text for message in store.history(opened.session.id)][-2:] == ["And now?", "Done."]


async def test_a_vendor_that_refuses_every_length_ends_the_turn_with_advice(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6)
    too_long = [ContextOverflow("too long", status=400)]
    provider.add(*[too_long] * 20)
    events = await turn(opened, "And now?")
    assert stop(events) == ("failed", "ContextOverflow")
    assert 1 <= len(compactions(events)) <= 8
    assert "begin a new session" in str(events[-1])
    assert len(store.history(opened.session.id)) == 13


async def test_the_person_asks_for_it_and_sees_before_what_will_go(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    gone = await opened.session.older()
    shown = await opened.session.compact("the letters", preview=True)
    assert len(gone) == shown.replaced == 4
    assert "the letters" in provider.summarised[-1].system
    assert await opened.session.compact("the letters") == shown, "what was shown is carried out"
    assert len(provider.summarised) == 1
    await talk(opened, provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    assert len(provider.requests[-1].history) == 1 + 8 + 1


async def test_a_call_keeps_its_result_in_every_request(opener: Opener, context: None, workspace: Path) -> None:
    (workspace / "long.txt").write_text("line of text\n" * 600)
    provider = Talker()
    opened = opener(provider, rounds=40)
    for number in range(8):
        found = [call("code_grep", json.dumps({"pattern": word})) for word in ("line", "text")]
        provider.add(found, [*found, call("tree")], [f"Read {number}."])
        await turn(opened, f"Read it: {number}")
    assert provider.summarised
    assert all(_paired(request.history) for request in provider.requests)


def _paired(history: Sequence[Message]) -> bool:
    waiting: list[str] = []
    for message in history:
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if results != waiting:
            return False
        waiting = [each.id for each in message.tool_calls]
    return not waiting


async def test_the_report_counts_what_is_still_sent(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    (line,) = (line for line in (await report(opened, lambda _: None)).lines if line.kind == "conversation")
    assert line.name == "conversation: 9 messages"


async def test_a_rate_limit_is_waited_out_before_a_summary_is_made_without_a_model(
    opener: Opener, store: Store
) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    limited = RateLimited("slow down", status=429, retry_after=0.0)
    provider.limits = [[limited]]
    compacted = await opened.session.compact()
    assert (compacted.by, compacted.note, len(provider.summarised)) == ("script-1", None, 2)


async def test_no_more_is_asked_once_a_summary_has_reached_a_cap(opener: Opener, store: Store, tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {script-1: {input: 100000, output: 0}}\nbudget: {session: 8}\n")  # a dollar a request
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    provider.add([call("compact_history")], ["Never asked for."])
    events = await turn(opened, "Free some space.")
    assert stop(events) == ("budget", None)
    assert len(compactions(events)) == 1
    assert (len(provider.requests), opened.tally.total.cost) == (7, 8.0)


@pytest.mark.parametrize("decision", ["kept", "rejected"])
async def test_what_is_put_back_is_true_when_the_summary_holds(
    workspace: Path, store: Store, tmp_path: Path, editor: MemoryEditor, decision: str
) -> None:
    provider = Talker()
    loaded = settings.load({}, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
    choice = Choice(provider, free=True)
    opened = open_session(loaded, choice, store, workspace, rounds=50, editor=editor, can_review=True)
    for path, old in (("a.txt", "alpha"), ("b.txt", "beta")):
        provider.add([call("apply_patch", json.dumps({"path": path, "old_str": old, "new_str": "new"}))], ["Done."])
        await turn(opened, f"Change {path}")
    await talk(opened, provider, 6, SHORT)
    shown = await opened.session.compact(preview=True)
    assert await opened.session.compact(preview=True) == shown
    first, second = opened.session.patches.pending
    assert _waits(shown) == [f"the person's review of your changes to {path}" for path in ("a.txt", "b.txt")]
    for patch, left in ((first, ["the person's review of your changes to b.txt"]), (second, [])):
        names = [hunk.id for edit in patch.edits for hunk in edit.hunks]
        rejected = [Rejection(name) for name in names] if decision == "rejected" else []
        await opened.session.resolve(patch.id, () if rejected else names, rejected)
        again = await opened.session.compact(preview=True)
        assert _waits(again) == left
    held = await opened.session.compact()
    assert (held, len(provider.summarised)) == (again, 1), "no model is asked again"
    assert held.tokens_after < shown.tokens_after
    kept = store.compactions.holding(store.find(opened.session.id).head)
    assert kept is not None
    assert kept.compaction == held


def _waits(compacted: Compacted) -> list[str]:
    """What the summary says that waits for the person."""
    assert compacted.message is not None
    return compacted.message.text.partition("\n\nWhat waited for the person when the summary was made:\n")[
        2
    ].splitlines()
