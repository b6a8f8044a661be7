"""Edits on their way into an editor that types, refuses, lies, keeps silent or is late."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.lsp import client
from marvin_server.lsp.document import Document
from marvin_server.lsp.documents import Documents
from marvin_server.lsp.editing import LspEditor
from marvin_server.lsp.features import documents as notifications
from marvin_server.lsp.rpc import Rpc
from marvin_server.workspace.editor import BufferEdit
from tests.lsp.buffers import CAPABILITIES, Buffers
from tests.patience import SECONDS

OLD = "".join(f"line {number}\n" for number in range(1, 11))


class Pair:
    """A server's editor and the person's, with the real JSON-RPC between them; messages take a turn of the loop."""

    def __init__(self, capabilities: Any = CAPABILITIES, marvin: Any = None) -> None:
        loop = asyncio.get_running_loop()
        params = {"capabilities": {**capabilities, "experimental": {"marvin": marvin or {"protocolVersion": 1}}}}
        server: Any = SimpleNamespace(documents=Documents(), client=client.read(params))
        heard = {name: partial(notifications.hear, server, name) for name in notifications.NOTIFICATIONS}
        self.documents: Documents = server.documents
        self.person = Buffers(lambda message: loop.call_soon(rpc.receive, json.dumps(message).encode()))

        self.arrived = asyncio.Event()

        def receive(message: Any) -> None:
            self.person.receive(message)
            if message.get("method") == "workspace/applyEdit":
                self.arrived.set()

        def send(message: Any) -> None:
            loop.call_soon(receive, message)

        rpc = Rpc(
            send,
            lambda _: None,
            {},
            heard,
        )
        self.editor = LspEditor(self.documents, rpc.request, lambda: server.client)

    async def open(self, path: Path, text: str | None = None) -> str:
        uri = self.person.open(path, text)
        await self.settled()
        return uri

    async def settled(self) -> None:
        """Let the messages that are on their way arrive."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def sent(self) -> None:
        """Wait until the editor was sent an edit."""
        async with asyncio.timeout(SECONDS):
            await self.arrived.wait()

    def known(self, uri: str) -> str | None:
        document = self.documents.find(uri)
        return document.text if document else None


def once(call: Callable[[], None]) -> Callable[[], object]:
    """``call`` for the first time, and nothing afterwards."""
    left = [call]
    return lambda: left and left.pop()()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(OLD)
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "b.txt"
    path.write_text(OLD)
    return path


@pytest.fixture
def untouched(tmp_path: Path) -> Iterator[None]:
    yield
    assert {path.read_text() for path in tmp_path.glob("*.txt")} == {OLD}


def edit(path: Path, new: str, old: str = OLD) -> BufferEdit:
    return BufferEdit(str(path), old, new)


FIFTH = OLD.replace("line 5\n", "fifth\n")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("tells_first", [True, False])
async def test_an_edit_over_two_files_is_one_and_counts_when_both_show_it(
    file: Path, other: Path, *, tells_first: bool
) -> None:
    pair = Pair()
    pair.person.tells_first = tells_first
    uris = [await pair.open(file), await pair.open(other)]
    made = await pair.editor.edit("Marvin: fifth", [edit(file, FIFTH), edit(other, FIFTH)])
    assert made == (FIFTH, FIFTH)
    assert [pair.person.text(uri) for uri in uris] == [FIFTH, FIFTH]
    place = {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}}
    listed = [
        {"textDocument": {"uri": uri, "version": 1}, "edits": [{"range": place, "newText": "fifth\n"}]} for uri in uris
    ]
    assert (pair.person.labels, pair.person.edits) == (["Marvin: fifth"], [{"documentChanges": listed}])
    buffers = pair.editor.buffers()
    assert [(buffer.text, buffer.version, buffer.is_dirty) for buffer in buffers] == [(FIFTH, 2, True)] * 2


async def test_a_client_that_does_not_announce_versioned_edits_gets_them_all_the_same_so_that_nothing_typed_is_replaced(
    file: Path,
) -> None:
    pair = Pair({"workspace": {"applyEdit": True}})
    uri = await pair.open(file)
    pair.person.on_edit = once(lambda: pair.person.put(uri, "line 1\n", "mine\nline 1\n"))
    assert await pair.editor.edit("x", [edit(file, FIFTH)]) == (f"mine\n{FIFTH}",)
    assert [list(each) for each in pair.person.edits] == [["documentChanges"]] * 2
    assert pair.person.text(uri) == f"mine\n{FIFTH}"


async def test_a_client_that_takes_no_edits_gets_none(file: Path) -> None:
    pair = Pair({})
    await pair.open(file)
    with pytest.raises(ToolError, match="takes no edits"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert pair.person.edits == []


@pytest.mark.parametrize("lies", [True, False])
async def test_what_the_person_types_meanwhile_is_kept_and_the_edit_is_sent_once_more(
    file: Path, *, lies: bool
) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.lies_when_stale = lies
    pair.person.on_edit = once(lambda: pair.person.put(uri, "line 1\n", "mine\nline 1\n"))
    assert await pair.editor.edit("x", [edit(file, FIFTH)]) == (f"mine\n{FIFTH}",)
    assert pair.person.text(uri) == pair.known(uri) == f"mine\n{FIFTH}"
    assert len(pair.person.edits) == 2


async def test_typing_into_the_edit_before_it_is_told_confirms_it_all_the_same(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.after_edit = lambda: pair.person.put(uri, "fifth", "fifth!")
    assert await pair.editor.edit("x", [edit(file, FIFTH)]) == (OLD.replace("line 5", "fifth!"),)
    assert len(pair.person.edits) == 1


async def test_lines_that_the_person_has_changed_too_are_theirs(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.on_edit = once(lambda: pair.person.put(uri, "line 5", "mine"))
    with pytest.raises(ToolError, match=r"changed the same lines of '.*a.txt' meanwhile: line 5. Read the file again"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert pair.person.text(uri) == pair.known(uri) == OLD.replace("line 5", "mine")


async def test_a_conflict_in_one_file_takes_the_edit_of_the_other_back(file: Path, other: Path) -> None:
    pair = Pair()
    first, second = await pair.open(file), await pair.open(other)
    pair.person.lies_when_stale = True
    pair.person.on_edit = once(lambda: pair.person.put(second, "line 5", "mine"))
    with pytest.raises(ToolError, match=r"same lines of '.*b.txt'") as refused:
        await pair.editor.edit("x", [edit(file, FIFTH), edit(other, FIFTH)])
    assert "taken back" not in str(refused.value)
    assert (pair.person.text(first), pair.person.labels) == (OLD, ["x", "Undo: x"])
    assert pair.person.text(second) == OLD.replace("line 5", "mine")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("manner", ["lying", "silent"])
async def test_an_edit_that_never_shows_is_not_confirmed_after_two_tries(file: Path, manner: str) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.manner = manner
    with pytest.raises(ToolError, match="not confirmed by the editor"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert (pair.known(uri), len(pair.person.edits)) == (OLD, 2)


async def test_a_refusal_is_told_with_its_reason_and_not_repeated(file: Path) -> None:
    pair = Pair()
    await pair.open(file)
    pair.person.manner = "refusing"
    with pytest.raises(ToolError, match="has refused the edit: not today"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert len(pair.person.edits) == 1


async def test_what_the_person_types_themselves_after_a_refusal_stays(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.manner = "refusing"
    with pytest.raises(ToolError, match="has refused the edit"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    pair.person.manner = "honest"
    pair.person.put(uri, "line 5\n", "fifth\n")
    await pair.settled()
    await asyncio.sleep(0)
    assert (pair.known(uri), pair.person.text(uri), len(pair.person.edits)) == (FIFTH, FIFTH, 1)


@pytest.mark.parametrize(
    ("new", "shown"),
    [(FIFTH.removesuffix("\n"), FIFTH), ("", "\n"), (FIFTH.replace("fifth\n", "fifth\r\n"), FIFTH)],
)
async def test_an_edit_that_the_editor_shows_with_its_own_line_ends_is_made_and_counts_as_marvins(
    file: Path, new: str, shown: str
) -> None:
    pair = Pair(marvin=SAVING)
    await pair.open(file)
    pair.person.shows = lambda _: shown
    assert await pair.editor.edit("x", [edit(file, new)]) == (shown,)
    assert (await pair.editor.save(), file.read_text()) == ((), shown)


async def test_an_edit_that_was_typed_over_before_it_was_told_is_said_to_be_there_still(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.shows = lambda text: text.replace("fifth\n", "fifth!\n")
    told = r"The person, or the editor, .* same lines .* line 5.* may still be in the editor"
    with pytest.raises(ToolError, match=told):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert (pair.person.text(uri), pair.person.labels) == (OLD.replace("line 5", "fifth!"), ["x"])


async def test_a_cancelled_edit_ends_at_once_and_is_taken_back_when_it_shows(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.late = 0.1
    editing = asyncio.create_task(pair.editor.edit("x", [edit(file, FIFTH)]))
    await pair.sent()
    editing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await editing
    assert pair.known(uri) == OLD
    shown: list[str | None] = []
    done = asyncio.Event()

    def watch(document: Document) -> None:
        shown.append(document.text)
        if shown[-2:] == [FIFTH, OLD]:
            done.set()

    pair.documents.watchers.append(watch)
    async with asyncio.timeout(SECONDS):
        await done.wait()
    assert pair.person.text(uri) == OLD


async def test_no_edit_is_waited_for_once_the_client_leaves(file: Path) -> None:
    pair = Pair()
    await pair.open(file)
    pair.person.manner = "silent"
    editing = asyncio.create_task(pair.editor.edit("x", [edit(file, FIFTH)]))
    await pair.sent()
    async with asyncio.timeout(1.5):
        pair.editor.close()
        with pytest.raises(ToolError, match="not confirmed by the editor"):
            await editing
        with pytest.raises(ToolError, match="The editor is gone"):
            await pair.editor.edit("x", [edit(file, FIFTH)])


async def test_a_person_who_types_without_end_is_asked_twice_at_most(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.on_edit = lambda: pair.person.put(uri, "line 1\n", "mine\nline 1\n")
    with pytest.raises(ToolError, match=r"not confirmed by the editor: '.*a.txt' did not show it within 2 tries"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    assert pair.person.text(uri) == pair.known(uri) == f"mine\nmine\n{OLD}"


async def test_an_edit_that_is_late_counts_once(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.late = 2.2
    assert await pair.editor.edit("x", [edit(file, FIFTH)]) == (FIFTH,)
    await asyncio.sleep(0)
    assert pair.person.text(uri) == FIFTH


async def test_an_edit_that_shows_after_it_was_given_up_is_taken_back(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.late = 4.2
    with pytest.raises(ToolError, match="not confirmed"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    pair.person.late = 0.0
    shown = asyncio.Event()
    pair.documents.watchers.append(lambda document: shown.set() if document.text == OLD else None)
    async with asyncio.timeout(SECONDS):
        await shown.wait()
    assert pair.person.text(uri) == OLD


async def test_a_file_that_is_closed_meanwhile_is_not_edited(file: Path) -> None:
    pair = Pair()
    uri = await pair.open(file)
    pair.person.manner = "lying"
    pair.person.on_edit = lambda: pair.person.close(uri) if uri in pair.person.texts else None
    with pytest.raises(ToolError, match="was closed in the editor"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    with pytest.raises(ToolError, match="was closed in the editor"):
        await pair.editor.edit("x", [edit(file, FIFTH)])


SAVING: dict[str, Any] = {"protocolVersion": 1, "documentSave": {}}


async def test_only_what_is_marvins_is_saved(file: Path, other: Path) -> None:
    pair = Pair(marvin=SAVING)
    uri, theirs = await pair.open(file), await pair.open(other)
    pair.person.put(theirs, "line 1", "mine")
    await pair.settled()
    await pair.editor.edit("x", [edit(file, FIFTH), edit(other, FIFTH)])
    told = (
        f"'{other}' has changes of Marvin's that are not saved, since there are others too, in the editor or in its "
        "file; a command does not see them"
    )
    assert [await pair.editor.save(), await pair.editor.save()] == [(told,), ()]
    assert (pair.person.saved, file.read_text(), other.read_text()) == ([uri], FIFTH, OLD)
    assert [buffer.is_dirty for buffer in pair.editor.buffers()] == [False, True]
    assert await pair.editor.reconcile() == ()


@pytest.mark.parametrize("newer", ["newer\n", None])
async def test_a_file_that_has_changed_beneath_an_edit_of_marvins_is_not_saved_over(
    file: Path, newer: str | None
) -> None:
    pair = Pair(marvin=SAVING)
    await pair.open(file)
    await pair.editor.edit("x", [edit(file, FIFTH)])
    if newer is None:
        file.rename(file.with_suffix(".moved"))
    else:
        file.write_text(newer)
    beneath, unsaved = await pair.editor.save()
    what = "is gone beneath them" if newer is None else "has changed on disk beneath them"
    assert beneath.endswith(what)
    assert "not saved, since there are others too" in unsaved
    assert (await pair.editor.save(), pair.person.saved) == ((), [])
    assert (file.read_text() if newer else file.exists()) == (newer or False)


async def test_a_file_that_has_changed_beneath_a_clean_buffer_is_read_from_disk_before_anything_was_run(
    file: Path,
) -> None:
    pair = Pair()
    await pair.open(file)
    assert pair.editor.buffer(str(file))
    file.write_text("another text\n")
    assert (pair.editor.buffer(str(file)), pair.editor.buffers()) == (None, ())
    with pytest.raises(ToolError, match="has changed on disk"):
        await pair.editor.edit("x", [edit(file, FIFTH)])


async def test_a_large_file_is_looked_at_in_the_background_and_counts_as_unsaved_until_then(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("é line\n" * 50_000)
    pair = Pair()
    pair.documents.opened(large.as_uri(), large.read_text(), 1)
    buffer = pair.editor.buffer(str(large))
    assert buffer
    assert buffer.is_dirty
    await pair.editor.look()
    buffer = pair.editor.buffer(str(large))
    assert buffer
    assert not buffer.is_dirty


@pytest.mark.parametrize("marvin", [SAVING, {"protocolVersion": 1}])
async def test_what_is_not_saved_is_told(file: Path, marvin: Any) -> None:
    pair = Pair(marvin=marvin)
    await pair.open(file)
    pair.person.saves = False
    await pair.editor.edit("x", [edit(file, FIFTH)])
    lines = await pair.editor.save()
    assert lines == (f"'{file}' has changes of Marvin's that the editor did not save; a command does not see them",)
    assert len(pair.person.saved) == ("documentSave" in marvin)


async def test_after_a_command_clean_files_are_read_from_disk_and_dirty_ones_told_once(file: Path, other: Path) -> None:
    pair = Pair()
    uri, theirs = await pair.open(file), await pair.open(other)
    pair.person.put(theirs, "line 1", "mine")
    await pair.settled()
    file.write_text("formatted\n")
    other.write_text("formatted\n")
    told = f"'{other}' has unsaved changes in the editor, and its file has changed on disk beneath them"
    assert await pair.editor.reconcile() == (told,)
    assert await pair.editor.reconcile() == ()
    assert pair.editor.buffer(str(file)) is None
    with pytest.raises(ToolError, match="has changed on disk"):
        await pair.editor.edit("x", [edit(file, FIFTH)])
    pair.person.type(uri, 0, len(OLD), "formatted\n")
    await pair.settled()
    buffer = pair.editor.buffer(str(file))
    assert buffer
    assert (buffer.text, buffer.is_dirty) == ("formatted\n", False)
    other.unlink()
    assert await pair.editor.reconcile() == (
        f"'{other}' has unsaved changes in the editor, and its file on disk is gone beneath them",
    )


LINE = st.sampled_from(["alpha\n", "beta\n", "gamma 😀\n", "\n"])
STEP = st.tuples(st.sampled_from(["type", "edit", "race", "after"]), st.integers(0, 12), st.integers(0, 12), LINE)


@settings(max_examples=40)
@given(steps=st.lists(STEP, max_size=8), lies=st.booleans(), tells_first=st.booleans())
async def test_no_line_that_was_typed_is_lost_and_both_sides_end_equal(
    steps: list[tuple[str, int, int, str]], *, lies: bool, tells_first: bool
) -> None:
    pair = Pair()
    person = pair.person
    person.lies_when_stale, person.tells_first = lies, tells_first
    uri = await pair.open(Path("/nowhere/a.txt"), OLD)
    mine: list[str] = []

    def type_line(at: int) -> None:
        mine.append(f"typed {len(mine)}\n")
        starts = [0]
        for line in person.text(uri).splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        place = starts[at % len(starts)]
        person.type(uri, place, place, mine[-1])

    for kind, where, at, line in steps:
        await pair.settled()
        person.on_edit = person.after_edit = lambda: None
        if kind == "type":
            type_line(at)
            continue
        if kind == "race":
            person.on_edit = once(partial(type_line, at))
        elif kind == "after":
            person.after_edit = once(partial(type_line, at))
        old = pair.known(uri) or ""
        lines = old.splitlines(keepends=True)
        place = where % (len(lines) + 1)
        new = "".join([*lines[:place], line, *lines[place:]]) if where % 3 else old.replace(f"line {where}\n", line)
        with suppress(ToolError):
            await pair.editor.edit("x", [BufferEdit("/nowhere/a.txt", old, new)])
    await pair.settled()
    assert pair.known(uri) == person.text(uri)
    assert [each for each in mine if each not in person.text(uri)] == []
