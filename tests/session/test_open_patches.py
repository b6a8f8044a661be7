"""Patches that are open for review, in the store: what a later process, an undo and a tidying find of them."""

import os
import time
from pathlib import Path

from marvin_server import settings
from marvin_server.events import Edit, Hunk, Patch
from marvin_server.session.kept_file import KeptFile
from marvin_server.session.open_patches import OpenPatch, Waiting
from marvin_server.session.store import Store
from marvin_server.session.undo import checkpoints_of
from marvin_server.workspace.checkpoint_objects import FileState
from tests.patience import SECONDS
from tests.session.test_patches_kept import Make, hunks, make, opener, patch, rejections, replaced, workspace

__all__ = ["make", "opener", "workspace"]


def kept(store: Store, name: str = "p1", *, root: str = "/work") -> OpenPatch:
    """A patch whose hunk removes bytes that are no text."""
    edit = Edit("update", "a.txt", "file:///project/a.txt", (Hunk(f"{name}-1", 1, ("\udcff\n",), 1, ("ÿ\n",)),))
    file = KeptFile("a.txt", "a.txt", FileState(0o100644, f"{name}-old"), FileState(0o100644, f"{name}-new"), False)
    session_id = store.create_session("/work", "p", "m").id
    return OpenPatch(session_id, "t1", root, Patch(name, "apply_patch a.txt", (edit,)), (file,), (f"{name}-1",))


def test_a_patch_comes_back_as_it_was_put_and_is_offered_once_it_is_made(store: Store) -> None:
    one = kept(store)
    store.patches.put(one, is_made=False)
    assert (store.patches.of(one.session_id), store.patches.find("p1")) == ([], None)
    store.patches.put(one, is_made=True)
    assert (store.patches.of(one.session_id), store.patches.find("p1")) == ([one], one)
    assert store.patches.waiting(one.session_id) == [Waiting("p1", ("p1-1",), 4)]
    assert one.pending.edits[0].hunks[0].old_lines == ("\\xff\n",)


def test_a_plan_counts_as_left_once_nobody_is_at_work(store: Store) -> None:
    one = kept(store)
    store.patches.put(one, is_made=False)
    store.own(one.session_id)
    assert store.patches.left(one.session_id) == []
    store.disown(one.session_id)
    assert store.patches.left(one.session_id) == [one]


def test_a_patch_is_forgotten_with_its_last_open_hunk_and_with_its_session(store: Store) -> None:
    one, other = kept(store), kept(store, "p2")
    for each in (one, other):
        store.patches.put(each, is_made=True)
    store.patches.decide("p1", (), ["p1-1"])
    store.patches.decide("p1", (), ["p1-1"])
    assert (store.patches.find("p1"), store.patches.find("p2")) == (None, other)
    store.catalogue.delete(other.session_id)
    assert store.patches.find("p2") is None


def test_an_undo_leaves_what_other_turns_and_other_files_have_for_review(store: Store) -> None:
    one = kept(store)
    store.patches.put(one, is_made=True)
    for turn_id, paths in (("t2", ["a.txt"]), ("t1", ["b.txt"]), ("t1", [])):
        assert store.patches.undone(one.session_id, turn_id, paths) == {}
    assert store.patches.undone(one.session_id, "t1", ["a.txt"]) == {"p1": ["p1-1"]}
    assert store.patches.of(one.session_id) == []


def test_the_contents_that_reviews_need_are_those_of_their_workspace(store: Store) -> None:
    for name, root in (("p1", "/work"), ("p2", "/other"), ("p3", "/work")):
        store.patches.put(kept(store, name, root=root), is_made=True)
    assert store.patches.contents("/work", days=30) == {"p1-old", "p1-new", "p3-old", "p3-new"}
    assert store.patches.contents("/work", days=-1) == set()
    assert [store.patches.find(name) is None for name in ("p1", "p2", "p3")] == [True, False, True]


async def test_a_review_outlives_its_step_and_a_tidying_of_the_checkpoints(
    make: Make, workspace: Path, store: Store, tmp_path: Path
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    opened, [made] = await make(replaced("a.txt", "two", "2"))
    store.steps.forget(str(workspace), days=30, most=0)
    checkpoints = checkpoints_of(
        settings.load({}, {"MARVIN_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}), workspace
    )
    loose = list(checkpoints.repository.place.rglob("objects/??/*"))
    for each in loose:
        os.utime(each, (0, 0))
    checkpoints.repository.tidy([*opened.session.patches.kept.contents(str(workspace))])
    deadline = time.monotonic() + SECONDS
    while any(each.exists() for each in loose) and time.monotonic() < deadline:
        os.sched_yield()
    assert (await opened.session.resolve(made.id, (), rejections(made))).failed == ()
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


async def test_of_a_patch_that_was_killed_halfway_only_the_files_that_it_has_changed_are_offered(
    make: Make, workspace: Path, store: Store
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    (workspace / "gone.txt").write_text("gone\n")
    lines = ("*** Update File: a.txt", "@@", "-two", "+2", "*** Add File: b.txt", "+b", "*** Delete File: gone.txt")
    opened, [made] = await make(patch(*lines))
    [whole] = store.patches.of(opened.session.id)
    store.patches.put(whole, is_made=False)
    (workspace / "a.txt").write_text("one\ntwo\n")
    (workspace / "gone.txt").write_text("gone\n")
    await opened.session.patches.kept.recover()
    [offered] = opened.session.patches.pending
    assert (offered.id, hunks(offered)) == (made.id, hunks(made)[1:2])
    (workspace / "b.txt").unlink()
    store.patches.put(whole, is_made=False)
    await opened.session.patches.kept.recover()
    assert (opened.session.patches.pending, store.patches.left(opened.session.id)) == ((), [])
