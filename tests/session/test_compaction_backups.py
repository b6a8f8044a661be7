"""What a summary has replaced is found again by the model, and kept in the workspace where that is wanted."""

import json
from pathlib import Path

import pytest

from marvin_server.events import Event, ToolFinished
from marvin_server.session.store import Store
from tests.agent.scripted import call
from tests.session.talker import SHORT, Talker, compactions, talk
from tests.session.turns import Opener, turn


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


async def test_of_an_ephemeral_session_nothing_is_left_in_the_workspace(
    opener: Opener, store: Store, workspace: Path
) -> None:
    session = store.create_session(str(workspace), "scripted", "script-1", keeper="0123456789abcdef")
    provider = Talker()
    opened = opener(provider, resume=session.id)
    await talk(opened, provider, 6, SHORT)
    await opened.session.compact()
    assert not (workspace / ".marvin").exists()
