"""The suite of attacks runs against every sandbox that works here; see ``test_best_sandbox`` for which must."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server.workspace.sandbox import best_sandbox
from tests.workspace.sandbox.place import Place, folder_seen_inside

# Without a PATH there is no bubblewrap, so the next best is taken.
PATHS = {
    found.name: path for path in ("", os.environ["PATH"]) if (found := best_sandbox({"PATH": path}).sandbox) is not None
}
BEST = best_sandbox(dict(os.environ)).sandbox


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``place`` is the machine with each sandbox, ``strong_place`` with the best one alone."""
    if "place" in metafunc.fixturenames:
        metafunc.parametrize("place", PATHS.values(), ids=PATHS.keys(), indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request.param)


@pytest.fixture
def strong_place() -> Iterator[Place]:
    assert BEST is not None
    yield from _place(os.environ["PATH"])


def _place(path: str) -> Iterator[Place]:
    base = Path(folder_seen_inside())
    place = Place(base, path)
    try:
        yield place
    finally:
        place.close()
        # An attack that has succeeded may have mounted what must not be removed.
        assert str(base) not in Path("/proc/self/mountinfo").read_text()
        shutil.rmtree(base)


@pytest.fixture
def python() -> str:
    """A Python that is seen inside, with the standard library alone."""
    return str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}"))
