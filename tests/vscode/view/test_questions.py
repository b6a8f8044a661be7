"""The cards of the chat view: questions, changes and what a turn has done, by mouse and keys."""

import pytest
from playwright.async_api import expect

from tests.vscode.view.events import PATCH, PERMISSION, STARTED
from tests.vscode.view.page import View

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def settled(view: View) -> None:
    """Until the card of a question takes an answer."""
    await view.page.evaluate("new Promise(done => setTimeout(done, 450))")


async def test_a_question_shows_all_and_takes_no_answer_that_comes_too_early(view: View) -> None:
    page = view.page
    await view.answer("answer", {"accepted": True})
    await page.get_by_role("textbox", name="Message to Marvin").focus()
    hidden = {**PERMISSION["command"], "display": "echo \u202ehi", "revealed": "echo ⟨U+202E⟩hi"}
    await view.events(1, STARTED, {"type": "permission.requested", "permission": {**PERMISSION, "command": hidden}})
    card = page.get_by_role("region", name="Question")
    for text in ("echo ⟨U+202E⟩hi", "/workspace", "/bin/bash, no sandbox", "commands must be asked for"):
        await expect(card).to_contain_text(text)
    await expect(page.get_by_role("textbox", name="Message to Marvin")).to_be_focused()
    events = [
        {"type": "permission.resolved", "permissionId": "q", "decision": "deny", "by": "terminal"},
        {"type": "permission.requested", "permission": {**PERMISSION, "id": "q2"}},
    ]
    told = {"type": "events", "events": {"sessionId": "s", "turnId": "t", "seq": 2, "events": events}}
    await page.evaluate("told => { tell(told); document.querySelector('.ways button').click() }", told)
    await expect(card).to_contain_text("The question has only just come.")
    assert await view.posted("answer") == []
    await settled(view)
    await card.get_by_role("button", name="Allow once").click()
    assert await view.until_posted("answer") == [{"permissionId": "q2", "decision": "allowOnce"}]


async def test_a_long_command_is_read_to_its_end_before_it_is_allowed(view: View) -> None:
    command = {**PERMISSION["command"], "display": "\n".join(f"echo {at}" for at in range(200))}
    await view.events(1, STARTED, {"type": "permission.requested", "permission": {**PERMISSION, "command": command}})
    await view.answer("answer", {"accepted": True})
    card = view.page.get_by_role("region", name="Question")
    await settled(view)
    await card.get_by_role("button", name="Allow once").dispatch_event("click")
    await expect(card).to_contain_text("Read it to its end first.")
    assert await view.posted("answer") == []
    await view.page.keyboard.press("End")
    await expect(card.get_by_role("button", name="Allow once")).to_have_attribute("aria-disabled", "false")
    await view.page.keyboard.press("y")
    assert await view.until_posted("answer") == [{"permissionId": "q", "decision": "allowOnce"}]


async def test_a_command_is_edited_and_a_denial_explained(view: View) -> None:
    await view.answer("answer", {"accepted": True})
    await view.events(1, STARTED, {"type": "permission.requested", "permission": PERMISSION})
    card = view.page.get_by_role("region", name="Question")
    await settled(view)
    await card.get_by_role("button", name="Edit, then allow").click()
    await card.get_by_role("textbox").fill("make -n test")
    await card.get_by_role("button", name="Run this").click()
    await card.get_by_role("button", name="Back").click()
    await card.get_by_role("button", name="Deny with a note").click()
    await card.get_by_role("textbox").fill("use tox")
    await card.get_by_role("textbox").press("Enter")
    assert await view.until_posted("answer", 2) == [
        {"permissionId": "q", "decision": "allowEdited", "command": "make -n test"},
        {"permissionId": "q", "decision": "deny", "note": "use tox"},
    ]


async def test_only_the_answers_that_a_question_takes_are_offered(view: View) -> None:
    asked = {**PERMISSION, "options": ["allowOnce", "deny"]}
    await view.events(1, STARTED, {"type": "permission.requested", "permission": asked})
    ways = view.page.get_by_role("region", name="Question").get_by_role("button")
    await expect(ways).to_have_text([r"Allow once y", r"Deny n", r"Deny with a note w"])


async def test_hunks_are_kept_and_rejected_one_by_one(view: View) -> None:
    page = view.page
    await view.answer("resolve", {"applied": ["h1"], "failed": []})
    await view.events(1, STARTED, {"type": "patch.applied", "patch": PATCH})
    change = page.get_by_role("region", name="Change: shop.py")
    await expect(change).to_contain_text("+3 −1")
    await change.get_by_role("button", name="Keep", exact=True).first.click()
    await change.get_by_role("button", name="Reject", exact=True).last.click()
    await change.get_by_placeholder("Why not?").fill("too long")
    await change.get_by_placeholder("Why not?").press("Enter")
    assert await view.until_posted("resolve", 2) == [
        {"patchId": "p", "accept": ["h1"], "reject": []},
        {"patchId": "p", "accept": [], "reject": [{"hunkId": "h2", "reason": "too long"}]},
    ]
    kept = {"type": "patch.resolved", "patchId": "p", "kept": ["h1"], "rejected": [{"hunkId": "h2"}], "by": "person"}
    await view.events(2, kept)
    await expect(change).to_contain_text("1 of 2 kept")
    await expect(change.get_by_role("button", name="Keep")).to_have_count(0)


async def test_a_turn_is_undone_and_done_again(view: View) -> None:
    page = view.page
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    outcome = {"applied": ["shop.py"], "failed": [{"path": "a.py", "reason": "changed since"}], "notes": []}
    await view.answer("undo", outcome)
    await view.answer("redo", {**outcome, "failed": []})
    call = {"toolCallId": "c", "name": "apply_patch"}
    await view.events(
        1,
        STARTED,
        {"type": "tool.started", **call, "title": "apply_patch", "kind": "edit", "input": {}, "locations": []},
        {"type": "patch.applied", "patch": PATCH},
        {"type": "tool.finished", **call, "status": "ok", "durationMs": 1, "output": "", "details": {}},
        {"type": "turn.finished", "turnId": "t", "stopReason": "completed", "usage": usage},
    )
    await page.get_by_role("button", name="Undo this turn").click()
    await view.tell({"type": "undone", "sessionId": "s", "turnIds": ["t"]})
    await expect(page.get_by_text("Undone: shop.py")).to_be_visible()
    await expect(page.get_by_text("a.py was left alone: changed since")).to_be_visible()
    await page.get_by_role("button", name="Redo").click()
    await view.tell({"type": "undone", "sessionId": "s", "turnIds": []})
    await expect(page.get_by_text("Done again: shop.py")).to_be_visible()
    assert await view.posted("undo") == [{"sessionId": "s", "turnId": "t"}]


async def test_a_tool_that_waits_for_an_answer_does_not_say_that_it_runs(view: View) -> None:
    tool = {"type": "tool.started", "toolCallId": "c", "name": "bash", "title": "make test", "kind": "execute"}
    asked = {"type": "permission.requested", "permission": {**PERMISSION, "toolCallId": "c"}}
    await view.events(1, STARTED, {**tool, "input": {}}, asked)
    status = view.page.get_by_role("log").locator(".tool .status")
    await expect(status).to_have_text("waits for you")
    await view.events(2, {"type": "permission.resolved", "permissionId": "q", "decision": "allowOnce", "by": "person"})
    await expect(status).to_have_text("allowed once, running")
