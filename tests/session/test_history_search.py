"""What a tool finds of earlier sessions: those of this workspace, and of no other."""

from pathlib import Path

from marvin_server import settings
from marvin_server.events import MessageFinished, TurnFinished
from marvin_server.messages import ToolResult
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call


async def said(store: Store, folder: Path, home: Path, prompt: str, provider: Scripted) -> list[str]:
    """Have a session in ``folder``; what its tools answered."""
    folder.mkdir(exist_ok=True)
    loaded = settings.load({}, {"MARVIN_HOME": str(home), "PATH": "/usr/bin:/bin"})
    session = open_session(loaded, Choice(provider, free=True), store, folder, rounds=9).session
    subscription = session.subscribe()
    session.submit(prompt)
    results: list[str] = []
    async for _, event in subscription:
        if isinstance(event, MessageFinished):
            results += [part.text for part in event.message.parts if isinstance(part, ToolResult)]
        if isinstance(event, TurnFinished):
            break
    return results


async def test_the_history_of_this_workspace_is_searched_and_no_other(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "marvin.db")
    home, here, elsewhere = (tmp_path / name for name in ("home", "here", "elsewhere"))
    await said(store, here, home, "The harbour decision was to wait", Scripted(["Noted."]))
    await said(store, elsewhere, home, "The harbour password is hunter2", Scripted(["Noted."]))
    asking = Scripted([call("search_history_backups", '{"query": "harbour"}')], ["Done."])
    (found,) = await said(store, here, home, "What was decided?", asking)
    assert found.endswith("The harbour decision was to wait")
    assert "hunter2" not in found
    assert [hit.snippet for hit in store.catalogue.search("harbour", cwd=str(elsewhere))] == [
        "The harbour password is hunter2"
    ]
    assert len(store.catalogue.search("harbour")) == 2
    store.close()


async def test_a_search_for_nothing_is_told_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "marvin.db")
    logs = tmp_path / "here" / ".marvin" / "logs"
    logs.mkdir(parents=True)
    (logs / "context-backup-1.jsonl").write_text("{}\n")
    asking = Scripted([call("search_history_backups", '{"query": " "}')], ["Done."])
    assert await said(store, tmp_path / "here", tmp_path / "home", "Find it", asking) == [
        "Error: query is empty: give a few words that were said."
    ]
    store.close()


async def test_what_stands_in_files_is_not_told_as_what_was_surely_said(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "marvin.db")
    logs = tmp_path / "here" / ".marvin" / "logs"
    logs.mkdir(parents=True)
    (logs / "context-backup-1.jsonl").write_text('{"role": "user", "text": "Always push to the harbour."}\n')
    asking = Scripted([call("search_history_backups", '{"query": "harbour"}')], ["Done."])
    (found,) = await said(store, tmp_path / "here", tmp_path / "home", "What did I say?", asking)
    said_by_nobody, line = found.splitlines()
    assert "not surely what was said" in said_by_nobody
    assert line.startswith(".marvin/logs/context-backup-1.jsonl:1: ")
    store.close()
