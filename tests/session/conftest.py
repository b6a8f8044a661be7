"""What the suites of sessions share: a store of the test's own, and an editor in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server.session.store import Store
from tests.session.memory_editor import MemoryEditor


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "marvin.db")
    yield store
    store.close()


@pytest.fixture
def editor() -> MemoryEditor:
    return MemoryEditor()
