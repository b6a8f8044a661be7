"""What becomes of a summary, and of the files that outlive it, where a disk has no room left."""

import resource
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.errors import StoreError
from marvin_server.events import TurnFinished
from marvin_server.providers.base import ModelRequest, StreamEvent
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import OpenSession, open_session
from marvin_server.session.store import Store
from tests.agent.scripted import call
from tests.session.talker import SHORT, SUMMARY, Talker, compactions, seen, talk
from tests.session.turns import turn

Full = Callable[[], AbstractContextManager[None]]
ADVICE = "make room on its disk and try again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ("mount", "-t", "tmpfs", "-o", "size=16m", "none", folder)
    is_mounted = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    yield folder
    if is_mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def full(disk: Path) -> Full:
    """Leaves no room on the disk while a block runs."""

    @contextmanager
    def filled() -> Generator[None]:
        with (disk / "filler").open("wb", buffering=0) as filler:
            size = 2**20
            while size:
                try:
                    filler.write(bytes(size))
                except OSError:
                    size //= 2
        try:
            yield
        finally:
            (disk / "filler").unlink()

    @contextmanager
    def limited() -> Generator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return filled if disk.is_mount() else limited


class Opened:
    """A session with its store in one folder and its files in another, of six turns."""

    def __init__(self, store: Path, workspace: Path, home: Path) -> None:
        workspace.mkdir()
        self.workspace = workspace
        self.store = Store.open(store / "marvin.db")
        self.provider = Filling()
        loaded = settings.load({}, {"MARVIN_HOME": str(home), "PATH": "/usr/bin:/bin"})
        choice = Choice(self.provider, free=True)
        self.session: OpenSession = open_session(loaded, choice, self.store, workspace, rounds=9)

    @property
    def said(self) -> list[str]:
        return [message.text for message in self.store.history(self.session.session.id)]

    @property
    def kept(self) -> list[str]:
        """The files that outlive summaries."""
        return sorted(path.name for path in self.workspace.rglob("*") if path.is_file())


class Filling(Talker):
    """Calls ``when_asked`` as it is asked for a summary."""

    def __init__(self) -> None:
        super().__init__()
        self.when_asked: Callable[[], None] = lambda: None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        if "You write the memory of Marvin" in request.system:
            self.when_asked()
        async for event in super().stream(request):
            yield event


async def test_a_summary_that_cannot_be_stored_is_not_made_twice(tmp_path: Path, disk: Path, full: Full) -> None:
    opened = Opened(disk, tmp_path / "workspace", tmp_path / "home")
    session, provider = opened.session.session, opened.provider
    await talk(opened.session, provider, 6, SHORT)
    shown = await session.compact(preview=True)
    said = opened.said
    with full():
        for _ in range(2):
            with pytest.raises(StoreError, match=ADVICE):
                await session.compact()
    assert (opened.said, opened.kept, len(provider.summarised)) == (said, [], 1)
    assert await session.compact() == shown
    assert len(provider.summarised) == 1
    await talk(opened.session, provider, 1, SHORT)
    assert SUMMARY in seen(provider)
    assert opened.said[: len(said)] == said


async def test_a_person_who_asks_for_one_is_told_what_to_do(tmp_path: Path, disk: Path, full: Full) -> None:
    opened = Opened(disk, tmp_path / "workspace", tmp_path / "home")
    await talk(opened.session, opened.provider, 6, SHORT)
    said = opened.said
    with full(), pytest.raises(StoreError, match=ADVICE):
        await opened.session.session.compact()
    assert opened.said == said
    assert (await opened.session.session.compact()).by == "script-1"


async def test_a_turn_in_which_the_disk_becomes_full_ends_with_what_to_do_and_the_next_one_goes_on(
    tmp_path: Path, disk: Path, full: Full
) -> None:
    opened = Opened(disk, tmp_path / "workspace", tmp_path / "home")
    provider = opened.provider
    await talk(opened.session, provider, 6, SHORT)
    provider.add([call("compact_history")])
    with ExitStack() as stack:
        provider.when_asked = lambda: stack.enter_context(full())
        events = await turn(opened.session, "Make room.")
    provider.when_asked = lambda: None
    end = events[-1]
    assert isinstance(end, TurnFinished)
    assert end.error is not None
    assert (end.stop_reason, end.error.kind, ADVICE in end.error.message) == ("failed", "StoreError", True)
    assert compactions(events) == []
    assert opened.said[12] == "Make room."
    provider.add([call("compact_history")], ["Done."])
    events = await turn(opened.session, "Again.")
    assert len(compactions(events)) == 1
    assert opened.said[-1] == "Done."


async def test_where_the_files_have_no_room_the_turn_goes_on_and_nothing_is_left_half(
    tmp_path: Path, disk: Path, full: Full, caplog: pytest.LogCaptureFixture
) -> None:
    opened = Opened(tmp_path, disk / "workspace", tmp_path / "home")
    provider = opened.provider
    await talk(opened.session, provider, 6, SHORT)
    said = opened.said
    if disk.is_mount():  # A limit on the size of files would meet the store, too.
        with full():
            provider.add([call("compact_history")], ["Done."])
            events = await turn(opened.session, "Make room.")
        assert len(compactions(events)) == 1
        assert opened.said[: len(said)] == said
        assert opened.said[-1] == "Done."
        assert opened.kept == []
        assert "No space left on the disk" in caplog.text
    await talk(opened.session, provider, 6, SHORT)
    await opened.session.session.compact()
    assert len(opened.kept) == 4
