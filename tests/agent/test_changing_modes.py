"""A mode that is changed while a turn runs holds for what the turn does from then on."""

import asyncio
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.events import PermissionRequested, ToolFinished, TurnFinished
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "marvin.db")
    yield store
    store.close()


async def test_a_yes_that_comes_just_before_mode_plan_runs_nothing(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    loaded = settings.load({}, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
    provider = Scripted([call("run_command", json.dumps({"command": "touch made"}))], ["done"])
    opened = open_session(loaded, Choice(provider, free=True), store, folder, rounds=5)
    events = opened.session.subscribe()
    opened.session.submit("go")
    outputs: list[str] = []
    async with asyncio.timeout(SECONDS):
        async for _, event in events:
            if isinstance(event, PermissionRequested):
                assert opened.session.answer(event.permission.id, "allow_once")
                opened.go_on_with(dataclasses.replace(loaded, mode="plan"), None)
            elif isinstance(event, ToolFinished):
                outputs.append(event.output)
            elif isinstance(event, TurnFinished):
                break
    assert outputs == ["Permission denied (mode plan: nothing is changed or run). Nothing was done."]
    assert not (folder / "made").exists()
    await opened.session.close()
