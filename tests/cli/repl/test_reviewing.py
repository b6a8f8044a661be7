"""Changes that a person decides on hunk by hunk, before they are made and after."""

from pathlib import Path

from marvin_cli.repl.loop import Start
from marvin_cli.view.base import Reply, Verdict

from marvin_server.events import PatchResolved
from tests.cli.repl.conftest import Open, Terminal
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call
from tests.servers.scenarios import calls, says

PATCH = """*** Begin Patch
*** Update File: shop.txt
@@
-apples
+pears
@@
-bread
+rolls
@@
-cheese
+butter
*** End Patch"""
CHANGE = Call("apply_patch", PATCH)
BEFORE, AFTER = "apples\n1\n2\n3\nbread\n4\n5\n6\ncheese\n", "pears\n1\n2\n3\nrolls\n4\n5\n6\nbutter\n"


async def reviewed(opened: Terminal, count: int) -> list[tuple[int, int]]:
    """Which hunks were shown, once there were so many."""
    await opened.view.until(lambda: len(opened.view.reviewed) >= count)
    return [(number, of) for _, number, of in opened.view.reviewed]


def rule(opened: Terminal, *verdicts: Verdict) -> None:
    for verdict in verdicts:
        opened.view.verdicts.put_nowait(verdict)


async def in_review(terminal: Open, workspace: Path, model_server: ThreadedModelServer) -> Terminal:
    """A terminal in mode review, with a turn that changes three places."""
    (workspace / "shop.txt").write_text(BEFORE)
    model_server.play([calls(CHANGE), says("Done.")])
    opened = await terminal()
    opened.view.enter("/mode review", "change it")
    assert await reviewed(opened, 1) == [(1, 3)]
    return opened


async def test_what_is_kept_is_made_and_the_model_hears_why_the_rest_is_not(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    opened = await in_review(terminal, workspace, model_server)
    assert (workspace / "shop.txt").read_text() == BEFORE
    assert opened.view.standings[-1].busy == "waiting for your answer"
    rule(opened, Verdict("keep"), Verdict("reject", "no rolls"), Verdict("keep"))
    await opened.view.turns(1)
    assert (workspace / "shop.txt").read_text() == AFTER.replace("rolls", "bread")
    assert await reviewed(opened, 3) == [(1, 3), (2, 3), (3, 3)]
    assert "no rolls" in str(model_server.requests[1].json["messages"][-1])


async def test_all_that_follows_is_kept_or_rejected_at_once(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    opened = await in_review(terminal, workspace, model_server)
    rule(opened, Verdict("reject"), Verdict("keep_all"))
    await opened.view.turns(1)
    assert (workspace / "shop.txt").read_text() == AFTER.replace("pears", "apples")
    model_server.play([calls(CHANGE), says("Done.")])
    (workspace / "shop.txt").write_text(BEFORE)
    opened.view.enter("again")
    await reviewed(opened, 3)
    rule(opened, Verdict("reject_all"))
    await opened.view.turns(2)
    assert (workspace / "shop.txt").read_text() == BEFORE


async def test_a_change_that_is_left_for_later_waits_until_the_review_goes_on(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    opened = await in_review(terminal, workspace, model_server)
    rule(opened, Verdict("keep"), Verdict("later"))
    await opened.view.said("go on with /review")
    assert ((workspace / "shop.txt").read_text(), opened.view.standings[-1].busy) == (BEFORE, "waiting for your answer")
    rule(opened, Verdict("keep_all"))
    opened.view.enter("/review")
    await opened.view.turns(1)
    assert await reviewed(opened, 3) == [(1, 3), (2, 3), (1, 2)]
    assert (workspace / "shop.txt").read_text() == AFTER


async def test_stopping_during_a_review_changes_nothing_and_asks_no_more(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    opened = await in_review(terminal, workspace, model_server)
    rule(opened, Verdict("keep"))
    await reviewed(opened, 2)
    opened.view.interrupt()
    (end,) = await opened.view.turns(1)
    assert (end.stop_reason, (workspace / "shop.txt").read_text()) == ("cancelled", BEFORE)
    opened.view.enter("/review")
    await opened.view.said("Nothing waits for your review")


async def test_changes_that_were_made_are_reviewed_in_a_later_run(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "shop.txt").write_text(BEFORE)
    model_server.play([calls(CHANGE), says("Done."), says("I see.")])
    opened = await terminal()
    opened.view.enter("change it")
    await opened.view.turns(1)
    assert ((workspace / "shop.txt").read_text(), opened.view.reviewed) == (AFTER, [])
    opened.view.end()
    await opened.left()

    again = await terminal(Start(latest=True))
    await again.view.said("3 hunks are open for review: /review")
    rule(again, Verdict("reject", "we like apples"), Verdict("later"))
    again.view.enter("/review")
    await again.view.said("go on with /review")
    assert (workspace / "shop.txt").read_text() == AFTER.replace("pears", "apples")
    (resolved,) = [event for event in again.view.events if isinstance(event, PatchResolved)]
    assert (len(resolved.kept), resolved.rejected[0].reason) == (0, "we like apples")
    again.view.enter("and now?")
    await again.view.turns(1)
    assert "we like apples" in str(model_server.requests[-1].json["messages"])


async def test_a_hunk_that_is_not_there_any_more_is_left_and_said(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "shop.txt").write_text(BEFORE)
    model_server.play([calls(CHANGE), says("Done.")])
    opened = await terminal()
    opened.view.enter("change it")
    await opened.view.turns(1)
    (workspace / "shop.txt").write_text("another text\n")
    rule(opened, Verdict("reject_all"))
    opened.view.enter("/review")
    assert "its lines are not there any more" in await opened.view.said("the change is left as it is")
    assert (workspace / "shop.txt").read_text() == "another text\n"


async def test_a_file_without_lines_is_reviewed_as_a_whole(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([calls(Call("create_file", '{"path": "empty", "content": ""}')), says("Done.")])
    opened = await terminal()
    opened.view.enter("/mode review", "make it")
    assert await reviewed(opened, 1) == [(1, 1)]
    rule(opened, Verdict("keep"))
    await opened.view.turns(1)
    assert (workspace / "empty").read_bytes() == b""


async def test_a_pipe_is_asked_about_an_edit_as_a_whole(
    terminal: Open, workspace: Path, model_server: ThreadedModelServer
) -> None:
    (workspace / "shop.txt").write_text(BEFORE)
    model_server.play([calls(CHANGE), says("Done.")])
    opened = await terminal(in_order=True)
    opened.view.enter("/mode review", "change it")
    await opened.view.until(lambda: opened.view.asked)
    opened.view.replies.put_nowait(Reply("deny"))
    await opened.view.turns(1)
    assert ((workspace / "shop.txt").read_text(), opened.view.reviewed) == (BEFORE, [])
