"""A conversation that becomes too long goes on with a summary; all that was said stays in the store."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.errors import BadRequest, ContextOverflow, RateLimited, UsageError
from marvin_server.events import Compacted, Event, Notice, Rejection, ToolFinished
from marvin_server.messages import Message, ToolResult
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.selection import Choice
from marvin_server.session.context_report import report
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Hang, Scripted, Step, call
from tests.patience import SECONDS
from tests.session.memory_editor import MemoryEditor
from tests.session.turns import Opener, finish, stop, wait_for

SUMMARY = "## Task\nCount the letters."
LONG = "word " * 1_500  # about 1,900 tokens
SHORT = "some words, " * 50


class Talker(Scripted):
    """Plays a script, and writes summaries when it is asked for one."""

    def __init__(self) -> None:
        super().__init__()
        self.summary: Sequence[Step] = [SUMMARY]
        self.limits: list[Sequence[Step]] = []
        self.summarised: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        if "You write the memory of Marvin" not in request.system:
            stream = super().stream(request)
        else:
            self.summarised.append(request)
            stream = Scripted(self.limits.pop() if self.limits else self.summary).stream(request)
        async with aclosing(stream) as events:
            async for event in events:
                yield event


@pytest.fixture
def context(tmp_path: Path) -> None:
    """A model that reads 16,000 tokens."""
    config = tmp_path / "home" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models: {script-1: {context: 16000}}\n")


async def turn(opened: OpenSession, prompt: str) -> list[Event]:
    subscription = opened.session.subscribe()
    opened.session.submit(prompt)
    events = await finish(subscription)
    opened.session.unsubscribe(subscription)
    return events


async def talk(opened: OpenSession, provider: Talker, turns: int, text: str = LONG) -> list[Event]:
    """So many turns; the events of all."""
    events: list[Event] = []
    for number in range(turns):
        provider.add([f"Answer {number}."])
        events += await turn(opened, f"Prompt {number}: {text}")
    return events


def compactions(events: list[Event]) -> list[Compacted]:
    return [event for event in events if isinstance(event, Compacted)]


def seen(provider: Talker) -> str:
    """All text of the conversation in the latest request."""
    return "\n".join(message.text for message in provider.requests[-1].history)


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


async def test_what_was_summarised_comes_back(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    await talk(opened, provider, 3, SHORT)
    one_summary = [message.text for message in provider.requests[-1].history]
    await opened.session.compact()
    await opened.session.take_back_summary()
    for each in (opened, opener(provider, resume=opened.session.id)):
        await talk(each, provider, 1, SHORT)
        again = [message.text for message in provider.requests[-1].history]
        assert again[: len(one_summary)] == one_summary
    await opened.session.take_back_summary()
    for each in (opened, opener(provider, resume=opened.session.id)):
        await talk(each, provider, 1, SHORT)
        assert list(provider.requests[-1].history) == store.history(opened.session.id)[:-1]
    with pytest.raises(UsageError, match="no summary"):
        await opened.session.take_back_summary()


async def test_another_process_goes_on_with_the_summary(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    resumed = opener(provider, resume=opened.session.id)
    await talk(resumed, provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    first = [message.text for message in provider.requests[-1].history]
    await talk(opened, provider, 1, SHORT)
    assert [message.text for message in provider.requests[-1].history][: len(first)] == first


async def test_a_fork_from_before_the_summary_has_everything(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    history = store.history(opened.session.id)
    await opened.session.compact()
    before = store.catalogue.fork(opened.session.id, history[-1].id)
    after = store.catalogue.fork(opened.session.id)
    await talk(opener(provider, resume=before), provider, 1, SHORT)
    assert len(provider.requests[-1].history) == 13
    await talk(opener(provider, resume=after), provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    assert (store.find(before).messages, store.find(after).messages) == (14, 14)


async def test_pages_and_pairs_do_not_show_that_there_was_a_summary(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    for _ in range(2):
        await opened.session.compact()
        await talk(opened, provider, 4, SHORT)
    whole = store.pages.of(opened.session.id, 100)
    assert len(whole) == 28
    assert [entry.parent_id for entry in whole[1:]] == [entry.message.id for entry in whole[:-1]]
    paged = store.pages.of(opened.session.id, 5)
    while len(paged) < len(whole):
        paged = [*store.pages.of(opened.session.id, 5, paged[0].message.id), *paged]
    assert paged == whole


async def test_while_a_summary_is_written_no_turn_begins_and_closing_ends_it(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    hang = Hang()
    provider.summary = [hang]
    compacting = asyncio.ensure_future(opened.session.compact())
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
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
    hang = Hang()
    provider.summary = [hang]
    compacting = asyncio.ensure_future(opened.session.compact())
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
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
    hang = Hang()
    provider.summary = [hang]
    compacting = asyncio.ensure_future(opened.session.compact())
    await asyncio.wait_for(hang.reached.wait(), SECONDS)
    subscription = opened.session.subscribe()
    provider.add(["Now."])
    opened.session.submit("And now?", "queue")
    compacting.cancel()
    assert stop(await finish(subscription)) == ("completed", None)
    assert store.history(opened.session.id)[-1].text == "Now."


async def test_the_model_asks_for_it_and_finds_what_went(opener: Opener, store: Store) -> None:
    provider = Talker()
    opened = opener(provider)
    provider.add([call("read_file", '{"path": "a.txt"}')], ["It says alpha."])
    await turn(opened, "What is in a.txt?")
    await talk(opened, provider, 4, SHORT)
    provider.add([call("compact_history", '{"focus": "a.txt"}')])
    provider.add([call("search_history_backups", '{"query": "alpha"}')], ["Done."])
    events = await turn(opened, "Make room.")
    (compacted,) = compactions(events)
    assert compacted.reason == "model"
    (found,) = [e.output for e in events if isinstance(e, ToolFinished) and e.name == "search_history_backups"]
    assert "It says alpha." in found
    assert "read_file returned: alpha" in found


async def test_what_goes_is_kept_in_the_workspace_without_secrets(
    opener: Opener, workspace: Path, store: Store
) -> None:
    provider = Talker()
    opened = opener(provider)
    provider.add([call("append_file", json.dumps({"path": "a.txt", "content": "omega"}))], ["Fixed, because."])
    await turn(opened, "Fix a.txt")
    await talk(opened, provider, 5, f"about sorting {SHORT}")
    compacted = await opened.session.compact()
    (backup,) = (workspace / ".marvin" / "logs").glob("context-backup-*")
    kept = [json.loads(line) for line in backup.read_text().splitlines()]
    assert [message["role"] for message in kept] == ["user", "assistant", "tool", "assistant"][: compacted.replaced] + (
        ["user", "assistant"] * 3
    )[: compacted.replaced - 4]
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    assert backup.name in index
    assert "- Fix a.txt" in index
    assert compacted.message is not None
    assert "a.txt" in compacted.message.text.partition("Files that Marvin has changed:")[2]


@pytest.mark.parametrize("flags", [{"readonly": True}, {"mode": "plan"}, {"history_backups": False}])
async def test_nothing_is_written_where_that_is_not_wanted(
    opener: Opener, workspace: Path, flags: dict[str, object]
) -> None:
    provider = Talker()
    opened = opener(provider, **flags)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    assert not (workspace / ".marvin").exists()


async def test_a_workspace_whose_folder_leads_out_is_left_alone(
    opener: Opener, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / ".marvin").symlink_to(tmp_path / "elsewhere")
    provider = Talker()
    opened = opener(provider)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    assert list((tmp_path / "elsewhere").iterdir()) == []


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


async def test_of_an_ephemeral_session_nothing_is_left_in_the_workspace(
    opener: Opener, store: Store, workspace: Path
) -> None:
    session = store.create_session(str(workspace), "scripted", "script-1", keeper="0123456789abcdef")
    provider = Talker()
    opened = opener(provider, resume=session.id)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    assert not (workspace / ".marvin").exists()


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


async def test_a_fork_finds_what_tools_returned_before_the_summary_too(
    opener: Opener, store: Store, workspace: Path
) -> None:
    (workspace / "zoo.txt").write_text('In cage "42" lives the ÄGYPTISCHE zebra.\n')
    provider = Talker()
    opened = opener(provider)
    provider.add([call("read_file", '{"path": "zoo.txt"}')], ["A zebra."])
    await turn(opened, "Read zoo.txt")
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    for session_id in (opened.session.id, store.catalogue.fork(opened.session.id)):
        for words in (["zebra"], ['"42"', "cage"], ["ägyptische"]):
            assert len(store.compactions.search(session_id, words)) == 1


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


async def test_an_ephemeral_session_finds_its_own_words_and_nobody_else_does(
    opener: Opener, store: Store, workspace: Path
) -> None:
    def found(events: list[Event]) -> str:
        return "".join(e.output for e in events if isinstance(e, ToolFinished) and e.name == "search_history_backups")

    async def searched(session_id: str) -> str:
        opened = opener(provider, resume=session_id)
        provider.add([call("search_history_backups", '{"query": "walrus"}')], ["Done."])
        return found(await turn(opened, "Search."))

    provider = Talker()
    session = store.create_session(str(workspace), "scripted", "script-1", keeper="0123456789abcdef")
    opened = opener(provider, resume=session.id)
    provider.add(["A walrus."])
    await turn(opened, "Name an animal.")
    early = store.catalogue.fork(session.id, "", keeper="0123456789abcdef")
    await talk(opened, provider, 6, SHORT)
    compacted = await opened.session.compact()
    assert compacted.message is not None
    assert "search_history_backups" in compacted.message.text
    fork = store.catalogue.fork(session.id, keeper="0123456789abcdef")
    for session_id in (session.id, fork):
        assert "A walrus." in await searched(session_id)
    other = store.create_session(str(workspace), "scripted", "script-1")
    for session_id in (early, other.id):
        assert await searched(session_id) == "[nothing said in this workspace has these words]"


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
