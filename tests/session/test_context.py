"""What the model is told before the conversation, in real sessions: the person's files, pins, and what was dropped."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.errors import UsageError
from marvin_server.events import Event, Notice
from marvin_server.providers import selection
from marvin_server.providers.selection import Choice
from marvin_server.session import context_report
from marvin_server.session.context_report import Report
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS
from tests.servers.model_server import ModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says
from tests.session.memory_editor import MemoryEditor
from tests.session.turns import Opener, turn

Opened = Callable[..., OpenSession]


@pytest.fixture
def opened(workspace: Path, store: Store, tmp_path: Path) -> Opened:
    """Opens a session; by default outside coding mode, and with nobody to be asked."""

    def make(
        provider: Scripted,
        *,
        coding: bool = False,
        resume: str | None = None,
        editor: MemoryEditor | None = None,
        **flags: Any,
    ) -> OpenSession:
        home = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        loaded = settings.load({"approve": "none", **flags}, home)
        choice = Choice(provider, free=True)
        return open_session(loaded, choice, store, workspace, rounds=50, resume=resume, editor=editor, coding=coding)

    return make


async def reported(opened: OpenSession) -> Report:
    return await context_report.report(opened, lambda _: None)


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def test_the_persons_own_files_are_in_the_prompt_as_they_are_when_a_turn_begins(
    opened: Opened, workspace: Path, tmp_path: Path
) -> None:
    put(tmp_path / "home/config/SOUL.md", "Be kind.")
    put(tmp_path / f"home/config/instructions{workspace}.md", "Ask before you add a dependency.")
    put(tmp_path / "home/config/profiles/default/preferences.yaml", "theme: dark\ndiet: [vegetarian]\n")
    provider = Scripted(["Hi"], ["Hi"])
    session = opened(provider)
    await turn(session)
    put(tmp_path / "home/config/SOUL.md", "Be brief.")
    await turn(session)
    first, second = (request.system for request in provider.requests)
    for text in ("Be kind.", "Ask before you add a dependency.", "- diet: vegetarian"):
        assert text in first
    assert "theme" not in first
    assert "Be kind." not in second
    assert "Be brief." in second
    await session.session.close()


async def test_a_file_that_cannot_be_taken_is_told_once(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "home/config/SOUL.md").mkdir(parents=True)
    put(tmp_path / "home/config/skills/tea/SKILL.md", "no front matter")
    session = opened(Scripted(["Hi"], ["Hi"]))
    told = [[event.text for event in await turn(session) if isinstance(event, Notice)] for _ in range(2)]
    assert [text.partition(" is left out: ")[2] for text in told[0]] == [
        "it is no file",
        "it needs a name and a description between two lines of ---",
    ]
    assert told[1] == []
    await session.session.close()


async def test_two_rounds_and_the_next_turn_begin_with_the_same_bytes_up_to_the_vendors_breakpoint(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-secret"}
    put(workspace / "AGENTS.md", "Use tabs.")
    async with ModelServer([calls(Call("read_file", '{"path": "a.txt"}')), says("Read."), says("Bye.")]) as server:
        loaded = settings.load(
            {"provider": "anthropic", "approve": "none"}, {**environ, "ANTHROPIC_BASE_URL": server.origin}
        )
        session = open_session(loaded, selection.choose(loaded), store, workspace, rounds=50)
        await session.context.pin(["b.txt"])
        await turn(session)
        put(workspace / "b.txt", "another beta\n")
        await turn(session)
        await session.session.close()
        await session.ledger.aclose()
        bodies = [request.json for request in server.requests]
    assert len(bodies) == 3
    stable = [body["system"][0] for body in bodies]
    assert stable[0]["cache_control"] == {"type": "ephemeral"}
    assert stable[0] == stable[1] == stable[2]
    assert "Use tabs." in stable[0]["text"]
    assert [body["tools"] for body in bodies] == [bodies[0]["tools"]] * 3
    changing = [body["system"][1]["text"] for body in bodies]
    assert changing[0] == changing[1]
    assert ["another beta" in text for text in changing] == [False, False, True]
    # What was said stays as it was sent, so that the cache of the first turn serves the second.
    without = [[{**part, "cache_control": None} for part in turn["content"]] for turn in bodies[2]["messages"]]
    assert [[{**part, "cache_control": None} for part in turn["content"]] for turn in bodies[1]["messages"]] == without[
        :3
    ]


async def test_a_report_is_of_what_is_there_now_and_changes_nothing_that_a_turn_reads(
    opened: Opened, workspace: Path, tmp_path: Path
) -> None:
    session = opened(Scripted(["Hi"]))
    put(workspace / "AGENTS.md", "Use tabs.")
    await turn(session)
    before = session.context.prompt, session.context.skills
    put(workspace / "AGENTS.md", "Use many, many more tabs.")
    put(workspace / "CLAUDE.md", "Be brief.")
    put(tmp_path / "home/config/SOUL.md", "Be kind.")
    put(tmp_path / "home/config/skills/brew/SKILL.md", "---\nname: brew\ndescription: Tea.\n---\n")
    await session.context.pin(["a.txt"])
    names = [line.name for line in (await reported(session)).lines]
    assert {"AGENTS.md", "CLAUDE.md", "a.txt"} < set(names)
    assert (session.context.prompt, session.context.skills) == before
    await session.session.close()


async def test_a_pin_is_the_file_as_it_is_in_the_editor_when_the_turn_begins(
    opened: Opened, workspace: Path, editor: MemoryEditor
) -> None:
    provider = Scripted([call("read_file", '{"path": "b.txt"}')], ["Hi"], ["Hi"], ["Hi"])
    session = opened(provider, editor=editor)
    await session.context.pin(["a.txt"])
    await turn(session)
    assert '<pinned-file path="a.txt" code="' in provider.requests[0].system
    assert provider.requests[0].system == provider.requests[1].system
    editor.open(workspace / "a.txt")
    editor.type(workspace / "a.txt", "alpha, not saved\n")
    await turn(session)
    assert "alpha, not saved" in provider.requests[2].system
    (workspace / "a.txt").unlink()
    editor.close(workspace / "a.txt")
    await turn(session)
    assert "[it cannot be read: File not found: 'a.txt'." in provider.requests[3].system
    await session.session.close()


async def test_pins_and_drops_stay_with_the_session_and_go_on_in_its_forks(
    opened: Opened, store: Store, tmp_path: Path
) -> None:
    put(tmp_path / "home/config/SOUL.md", "Be kind.")
    session = opened(Scripted(["Hi"]))
    await session.context.pin(["a.txt"])
    await session.context.settle(lambda _: None)
    soul = next(block.name for block, _ in session.context.blocks() if block.name.endswith("SOUL.md"))
    await session.context.drop(soul)
    await session.context.drop("skills")
    await turn(session)
    await session.session.close()
    fork = store.catalogue.fork(session.session.id)
    for resumed in (session.session.id, fork):
        provider = Scripted(["Hi"])
        again = opened(provider, resume=resumed)
        await turn(again)
        system = provider.requests[0].system
        assert ("alpha" in system, "Be kind." in system, "find-the-cause" in system) == (True, False, False)
        await again.session.close()
    again = opened(Scripted(), resume=fork)
    again.context.restore("skills")
    await again.context.drop("a.txt")
    sent = {
        line.name: line.is_sent for line in (await reported(again)).lines if line.kind in ("skills", "pin", "person")
    }
    assert sent == {"skills": True, "conventions": False, soul: False}
    await again.session.close()
    store.catalogue.delete(fork)
    assert store.context_choices.of(fork) == {"pin": (), "drop": ()}
    assert store.context_choices.of(session.session.id)["pin"] == ("a.txt",)


async def test_what_cannot_be_pinned_or_dropped_is_refused_with_what_could(opened: Opened, workspace: Path) -> None:
    put(workspace / ".env", "KEY=1")
    session = opened(Scripted())
    put(workspace / "src" / "a.py", "")
    for path, why in (
        ("missing.txt", rf"^File not found: 'missing.txt'\. Working dir: {workspace}\.$"),
        ("src/b.py", r"^File not found: 'src/b.py'\.$"),
        ("src", r"^'src' is a folder, not a file\.$"),
        (".env", "may hold secrets$"),
        ("../x", rf"^'../x' is outside the workspace\. Working dir: {workspace}\.$"),
    ):
        with pytest.raises(UsageError, match=why):
            await session.context.pin(["a.txt", path])
    with pytest.raises(UsageError, match="nothing called 'rules' that can be dropped; there is: skills"):
        await session.context.drop("rules")
    with pytest.raises(UsageError, match="'skills' was not dropped; these were: none"):
        session.context.restore("skills")
    assert session.context.blocks()[-1][0].name == "place"
    await session.session.close()


async def test_the_report_sums_up_to_the_request_that_is_sent(
    workspace: Path, store: Store, tmp_path: Path, opener: Opener
) -> None:
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "sk-secret"}
    loaded = settings.load({"provider": "openai", "model": "gpt-5.1", "approve": "none"}, environ)
    put(workspace / "AGENTS.md", "Use tabs. " * 2_000)
    session = open_session(loaded, selection.choose(loaded), store, workspace, rounds=50)
    report = await reported(session)
    assert (report.provider, report.model, report.context_size) == ("openai", "gpt-5.1", 272_000)
    assert report.tokens == sum(line.tokens for line in report.lines)
    assert report.cost is not None
    assert report.cached_cost is not None
    assert 0 < report.cached_cost < report.cost
    assert sum(line.cost or 0 for line in report.lines) == pytest.approx(report.cost)
    lines = {line.name: line for line in report.lines}
    assert lines["AGENTS.md"].tokens > 1_000
    assert lines["AGENTS.md"].can_drop
    await session.context.drop("AGENTS.md")
    after = await reported(session)
    assert after.tokens < report.tokens - 1_000
    assert [line.is_sent for line in after.lines if line.name == "AGENTS.md"] == [False]
    shown = context_report.shown(after)
    assert any(line.startswith("AGENTS.md (dropped)") for line in shown)
    assert shown[-1].startswith(f"{after.tokens:,} tokens of 272,000 (")
    await session.session.close()
    await session.ledger.aclose()


async def test_a_report_asks_nobody_and_changes_nothing_of_what_the_next_turn_asks(
    opener: Opener, workspace: Path
) -> None:
    put(workspace / "AGENTS.md", "Use tabs.")
    session = opener(Scripted(["Hi"]))
    notices: list[Event] = []
    async with asyncio.timeout(SECONDS):
        report = await context_report.report(session, notices.append)
    assert "AGENTS.md" not in {line.name for line in report.lines}
    assert [event.text for event in notices if isinstance(event, Notice)] == [
        "AGENTS.md is not in it yet: with the next prompt you are asked about it"
    ]
    events = session.session.subscribe()
    session.session.submit("Hello")
    async with asyncio.timeout(SECONDS):
        async for _, event in events:
            if event.type == "permission.requested":
                break
    await session.session.close()


async def test_outside_coding_mode_what_was_said_there_before_is_recalled_and_nothing_else(
    opened: Opened, store: Store
) -> None:
    chat = opened(Scripted(["Lisbon, I would say."]))
    await turn(chat, "Where shall I go in May? " + "x" * 300)
    code = opened(Scripted(["Secret sauce."]), coding=True)
    await turn(code, "What is in this project?")
    provider = Scripted([call("read_file", '{"path": "a.txt"}')], ["Hi"])
    later = opened(provider)
    await turn(later, "And in June?")
    (earlier,) = {
        request.system.partition("answer what they ask now:\n")[2].partition("\n\n")[0] for request in provider.requests
    }
    person, marvin = earlier.splitlines()
    assert person.startswith("Person: Where shall I go in May? xxx")
    assert len(person) == len("Person: ") + 200
    assert marvin == "Marvin: Lisbon, I would say."
    coding = Scripted(["Hi"])
    await turn(opened(coding, coding=True))
    assert "Lisbon" not in coding.requests[0].system
    again = Scripted(["Hi"])
    await turn(opened(again, resume=later.session.id))
    assert "Lisbon" in again.requests[0].system
    assert "And in June?" not in again.requests[0].system


async def test_a_conversation_that_went_on_in_coding_mode_is_recalled_no_more(opened: Opened, store: Store) -> None:
    chat = opened(Scripted(["Lisbon."]))
    await turn(chat, "Where to?")
    assert store.catalogue.is_chat(chat.session.id)
    opened(Scripted(), resume=chat.session.id, coding=True)
    assert not store.catalogue.is_chat(chat.session.id)
    provider = Scripted(["Hi"])
    await turn(opened(provider))
    assert "Lisbon" not in provider.requests[0].system


async def test_a_secret_of_the_environment_is_blotted_out_of_a_pin(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    put(workspace / "notes.txt", "The key is hunter2-hunter2.")
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "SHOP_API_KEY": "hunter2-hunter2"}
    provider = Scripted(["Hi"])
    loaded = settings.load({"approve": "none"}, environ)
    session = open_session(loaded, Choice(provider, free=True), store, workspace, rounds=5)
    await session.context.pin(["notes.txt"])
    await turn(session)
    assert "The key is ***." in provider.requests[0].system
    await session.session.close()
