"""What the suites of sessions share: a store of the test's own, and an editor in memory."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted
from tests.session.memory_editor import MemoryEditor
from tests.session.turns import Opener


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "marvin.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store.open(path)) as store:
        yield store


@pytest.fixture
def editor() -> MemoryEditor:
    return MemoryEditor()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    (folder / "b.txt").write_text("beta\n")
    return folder


@pytest.fixture
def opener(workspace: Path, store: Store, tmp_path: Path) -> Opener:
    def make(provider: Scripted, rounds: int = 50, resume: str | None = None, **flags: Any) -> OpenSession:
        loaded = settings.load(flags, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"})
        return open_session(loaded, Choice(provider, free=True), store, workspace, rounds=rounds, resume=resume)

    return make
