"""The chat view, used by mouse and keys, with the test as its host."""

from typing import Any

import pytest
from playwright.async_api import BrowserContext, expect

from tests.vscode.view.page import SESSION, Message, View, opened, recorded, snapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")

STARTED = {"type": "turn.started", "turnId": "t", "sessionId": "s", "provider": "p", "model": "m"}
PERMISSION: dict[str, Any] = {
    "id": "q",
    "kind": "command",
    "title": "make",
    "reason": "Run a bash command.",
    "decidedBy": "mode auto: commands must be asked for",
    "command": {
        "display": "make test",
        "shell": "/bin/bash",
        "cwd": "/workspace",
        "envChanges": {},
        "scripts": [],
        "sandbox": "off",
    },
    "options": ["allowOnce", "allowSession", "allowEdited", "deny", "denyAndStop"],
    "isWhole": True,
}
PATCH: dict[str, Any] = {
    "id": "p",
    "title": "apply_patch shop.py",
    "edits": [
        {
            "kind": "update",
            "path": "shop.py",
            "uri": "file:///workspace/shop.py",
            "hunks": [
                {"id": "h1", "oldStart": 1, "oldLines": ["a\n"], "newStart": 1, "newLines": ["A\n"]},
                {"id": "h2", "oldStart": 9, "oldLines": [], "newStart": 9, "newLines": ["b\n", "c\n"]},
            ],
        }
    ],
}


def said(text: str, role: str = "assistant", name: str = "a") -> dict[str, Any]:
    return {
        "type": "message.finished",
        "message": {"role": role, "id": name, "parts": [{"type": "text", "text": text}]},
    }


async def settled(view: View) -> None:
    """Until the card of a question takes an answer."""
    await view.page.evaluate("new Promise(done => setTimeout(done, 450))")


async def test_markdown_of_a_model_can_do_nothing_by_itself(view: View) -> None:
    text = (
        "<img src=x onerror=alert(1)> ![p](http://example.com/p.png) [j](javascript:alert(1)) [ok](https://example.com)"
    )
    await view.events(1, STARTED, said(f"{text}\n\n|a|\n|:-:|\n|b|"))
    answer = view.page.get_by_role("article", name="Marvin")
    await expect(answer.get_by_role("table")).to_be_visible()
    assert await answer.locator("img, [style], script").count() == 0
    await expect(answer).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(answer).to_contain_text("[j](javascript:alert(1))")
    await answer.get_by_role("link", name="ok").click()
    assert await view.until_posted("openLink") == [{"type": "openLink", "url": "https://example.com"}]


async def test_paths_open_files_and_code_is_copied_and_inserted_exactly(view: View) -> None:
    await view.events(
        1, STARTED, said("See `src/shop.py:12` and [it](src/a%20b.py#L3).\n\n```python\nif a < b:\n    pass\n```")
    )
    page = view.page
    await page.get_by_role("link", name="src/shop.py:12").click()
    await page.get_by_role("link", name="it", exact=True).click()
    assert await view.until_posted("openPath", 2) == [
        {"type": "openPath", "path": "src/shop.py", "line": 12},
        {"type": "openPath", "path": "src/a b.py", "line": 3},
    ]
    await page.locator("figure").get_by_role("button", name="Copy").click()
    await page.locator("figure").get_by_role("button", name="Insert").click()
    code = "if a < b:\n    pass\n"
    assert await view.until_posted("copy") == [{"type": "copy", "text": code}]
    assert await view.until_posted("insertAtCursor") == [{"type": "insertAtCursor", "text": code}]


async def test_a_streamed_text_looks_as_the_whole_text_does(view: View, browser: BrowserContext) -> None:
    items = "".join(f"- item {at} with `code`\n  - nested\n" for at in range(300))
    code = "".join(f"value_{at} = '{at}'\n" for at in range(900))
    table = "|a|b|\n|-|-|\n" + "".join(f"|{at}|*cell*|\n" for at in range(900))
    quote = "".join(f"> Quoted line {at}\n" for at in range(400))
    lines = "".join(f"Line {at} of a paragraph\n" for at in range(400))
    text = (
        f"# Title\n\nSome *words*\non two lines.\n\n{items}\n1. one\n2. two\n\n```python\n{code}```\n\n"
        f"{table}\n{quote}\n{lines}\nThe end."
    )
    await view.events(1, STARTED)
    for seq, at in enumerate(range(0, len(text), 997), 2):
        await view.events(seq, {"type": "message.delta", "messageId": "a", "text": text[at : at + 997]})
    await view.events(len(text), STARTED)
    await view.until_posted("open")
    await view.tell(snapshot(items=[{"kind": "message", "id": "a", "createdAt": "", "message": said(text)["message"]}]))
    shown = view.page.locator(".markdown")
    await expect(shown.get_by_text("The end.")).to_be_visible()
    async with opened(browser) as other:
        await other.tell(snapshot())
        await other.events(1, STARTED, said(text))
        whole = other.page.locator(".markdown")
        await expect(whole.get_by_text("The end.")).to_be_visible()
        assert (await shown.inner_text()).split() == (await whole.inner_text()).split()
        assert await shown.locator("pre").text_content() == await whole.locator("pre").text_content() == code
        for page in (shown, whole):
            assert await page.locator("td").all_text_contents() == [
                cell for at in range(900) for cell in (f"{at}", "cell")
            ]
            assert await page.locator("th:visible").all_text_contents() == ["a", "b"]
            assert "|" not in await page.inner_text()


async def test_what_was_typed_comes_back_when_it_could_not_be_sent(view: View) -> None:
    box = view.page.get_by_role("textbox", name="Message to Marvin")
    await view.answer("send", error="The key was refused. Set another one.")
    await box.fill("Hello")
    await box.press("Enter")
    await expect(view.page.get_by_role("alert")).to_contain_text("The key was refused.")
    await expect(box).to_have_value("Hello")


async def test_enter_sends_once_and_the_prompt_waits_until_it_was_read(view: View) -> None:
    box = view.page.get_by_role("textbox", name="Message to Marvin")
    await view.answer("send", {"turnId": "t", "state": "running"})
    await box.fill("one")
    await box.press("Shift+Enter")
    await box.press_sequentially("two")
    await box.press("Enter")
    (sent,) = await view.until_posted("send")
    assert sent == {"sessionId": "s", "text": "one\ntwo", "pictures": [], "whenBusy": "queue"}
    await expect(box).to_have_value("")
    await expect(view.page.get_by_role("article", name="You, not yet read")).to_contain_text("one")
    await view.events(1, STARTED, said("one\ntwo", "user", "u"))
    await expect(view.page.get_by_role("article", name="You, not yet read")).to_have_count(0)
    await expect(view.page.get_by_role("article", name="You")).to_have_count(1)


async def test_a_summary_that_is_being_written_is_told_and_stopped(view: View) -> None:
    page = view.page
    stop = page.get_by_role("button", name="Stop")
    await view.answer("cancel")
    await view.tell({"type": "session", "session": {**SESSION, "busy": True, "activity": "summarising"}})
    await expect(page.locator("p.working")).to_have_text("Marvin summarises what was said.")
    await stop.click()
    assert await view.until_posted("cancel") == [{"sessionId": "s"}]
    await view.tell({"type": "session", "session": SESSION})
    await expect(page.locator("p.working")).to_have_count(0)
    await expect(stop).to_have_count(0)


async def test_a_queued_prompt_can_be_taken_back(view: View) -> None:
    page = view.page
    box = page.get_by_role("textbox", name="Message to Marvin")
    await view.events(1, STARTED)
    await view.answer("send", {"turnId": "t2", "state": "queued"})
    await view.answer("cancel")
    await box.fill("next")
    await box.press("Enter")
    await page.get_by_role("button", name="Take back").click()
    await expect(box).to_have_value("next")
    assert await view.posted("cancel") == [{"sessionId": "s", "turnId": "t2"}]
    await expect(page.get_by_role("article")).to_have_count(0)


async def test_a_draft_outlives_the_page(view: View) -> None:
    box = view.page.get_by_role("textbox", name="Message to Marvin")
    await box.fill("half a tho")
    told = (await view.until_posted("draft"))[-1]
    assert (told["sessionId"], told["text"]) == ("s", "half a tho")
    await view.page.reload()
    await view.tell(snapshot())
    await expect(box).to_have_value("half a tho")


async def test_up_and_down_bring_back_what_was_said(view: View) -> None:
    await view.events(1, STARTED, said("first", "user", "u1"), said("second", "user", "u2"))
    box = view.page.get_by_role("textbox", name="Message to Marvin")
    await box.fill("typing")
    await box.press("Home")
    for key, text in (("ArrowUp", "second"), ("ArrowUp", "first"), ("ArrowDown", "second"), ("ArrowDown", "typing")):
        await box.press(key)
        await expect(box).to_have_value(text)


async def test_a_file_is_completed_by_the_keys(view: View) -> None:
    page = view.page
    files = [{"label": name, "insertText": f"@{name}", "kind": "file"} for name in ("shop.py", "shelf.py")]
    await view.answer("complete", files)
    box = page.get_by_role("textbox", name="Message to Marvin")
    await box.fill("Look at @sh")
    await expect(page.get_by_role("option")).to_have_count(2)
    assert await view.posted("complete") == [{"sessionId": "s", "text": "Look at @sh", "cursor": 11}]
    await box.press("ArrowDown")
    await expect(page.get_by_role("option", selected=True)).to_contain_text("shelf.py")
    await box.press("Enter")
    await expect(box).to_have_value("Look at @shelf.py ")
    await expect(page.get_by_role("listbox")).to_have_count(0)


async def test_a_list_in_which_the_person_chooses_is_not_replaced(view: View) -> None:
    page = view.page
    shown = [{"label": name, "insertText": f"@{name}", "kind": "file"} for name in ("shop.py", "shelf.py", "sum.py")]
    await view.answer("complete", shown)
    box = page.get_by_role("textbox", name="Message to Marvin")
    await box.fill("@s")
    await expect(page.get_by_role("option")).to_have_count(3)
    await page.evaluate("delete answers.complete")
    await page.keyboard.insert_text("h")
    await view.until_posted("complete", 2)
    await box.press("ArrowDown")
    await page.evaluate(
        "result => tell({ type: 'answer', id: posted.findLast(({ method }) => method === 'complete').id, result })",
        shown[:2],
    )
    await expect(page.get_by_role("option", selected=True)).to_contain_text("shelf.py")
    await box.press("Enter")
    await expect(box).to_have_value("@shelf.py ")


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


async def test_the_end_is_followed_only_while_the_person_is_there(view: View) -> None:
    page = view.page
    log = page.get_by_role("log", name="Conversation")
    lines = "\n\n".join(f"Line {at}" for at in range(100))
    await view.events(1, STARTED, {"type": "message.delta", "messageId": "a", "text": lines})
    await expect(log.get_by_text("Line 99")).to_be_in_viewport()
    await log.evaluate("log => log.scrollTo(0, 200)")
    await view.events(2, {"type": "message.delta", "messageId": "a", "text": f"\n\n{lines}\n\nThe last line"})
    await page.get_by_role("button", name="New text below").click()
    await expect(log.get_by_text("The last line")).to_be_in_viewport()
    await expect(page.get_by_role("button", name="New text below")).to_have_count(0)
    await log.evaluate("log => log.scrollTo(0, 200)")
    await page.get_by_role("textbox", name="Message to Marvin").fill("Go on")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("article", name="You, not yet read")).to_be_in_viewport()
    await view.events(3, {"type": "permission.requested", "permission": PERMISSION})
    await expect(page.get_by_text("Waits for your answer")).to_be_in_viewport()


async def test_who_scrolls_up_in_the_frame_in_which_text_comes_stays_there(view: View) -> None:
    page = view.page
    log = page.get_by_role("log", name="Conversation")
    lines = "\n\n".join(f"Line {at}" for at in range(100))
    await page.evaluate(
        """() => {
          const content = document.querySelector("[role=log] > *");
          new ResizeObserver(() => content.parentElement.scrollTo(0, 200)).observe(content);
        }"""
    )
    await view.events(1, STARTED, {"type": "message.delta", "messageId": "a", "text": lines})
    await page.wait_for_function("() => document.querySelector('[role=log]').scrollTop === 200")
    await view.events(2, {"type": "message.delta", "messageId": "a", "text": f"\n\n{lines}"})
    await expect(page.get_by_role("button", name="New text below")).to_be_visible()
    assert await log.evaluate("log => log.scrollTop") == 200


async def test_what_was_said_before_is_loaded_above_without_moving_the_text(view: View) -> None:
    def items(*names: str) -> list[dict[str, Any]]:
        text = "words\n\n" * 30
        return [
            {"kind": "message", "id": name, "createdAt": "", "message": said(f"{name} {text}", "user", name)["message"]}
            for name in names
        ]

    session = {**SESSION, "id": "long"}
    await view.tell(snapshot(session=session, items=items("two", "three"), cursor="two"))
    log = view.page.get_by_role("log")
    await expect(log.get_by_text("three words")).to_be_attached()
    await view.page.wait_for_function("() => document.querySelector('[role=log]').scrollTop > 0")
    await log.evaluate("log => log.scrollTo(0, 0)")
    assert await view.until_posted("older") == [{"sessionId": "long", "before": "two"}]
    top = await log.get_by_text("two words").evaluate("item => item.getBoundingClientRect().top")
    await view.tell({"type": "older", "sessionId": "long", "items": items("one")})
    await expect(log.get_by_text("one words")).to_be_attached()
    assert abs(await log.get_by_text("two words").evaluate("item => item.getBoundingClientRect().top") - top) < 40


async def test_sessions_are_found_and_opened_by_the_keys(view: View) -> None:
    page = view.page
    alpha, best, beta = ({**SESSION, "id": name, "title": name.title()} for name in ("alpha", "best", "beta"))
    rows = page.get_by_role("listitem")
    await view.answer("sessions", {"sessions": [alpha, best, beta]})
    await view.answer("open")
    await page.get_by_role("button", name="Sessions").click()
    await expect(rows).to_have_count(3)
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await view.answer("sessions", {"sessions": [best, beta]})
    await page.keyboard.insert_text("be")
    await expect(rows).to_have_count(2)
    assert await view.posted("sessions") == [{"query": ""}, {"query": "be"}]
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    assert await view.until_posted("open") == [{"sessionId": "beta"}]


async def test_a_session_is_renamed_from_its_menu(view: View) -> None:
    page = view.page
    await view.answer("rename")
    await page.get_by_role("button", name="Session menu").click()
    await expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await page.keyboard.press("Enter")
    title = page.get_by_role("textbox", name="Title of the session")
    await expect(title).to_be_focused()
    await title.fill("Prices")
    await title.press("Enter")
    assert await view.until_posted("rename") == [{"sessionId": "s", "title": "Prices"}]


async def test_a_pasted_picture_goes_along_and_a_large_one_is_refused_in_words(view: View) -> None:
    page = view.page
    paste = """(size) => {
      const file = new File([new Uint8Array(size)], "shot.png", { type: "image/png" });
      const transfer = new DataTransfer();
      transfer.items.add(file);
      document.querySelector("textarea").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
    }"""
    await page.evaluate(paste, 3)
    await expect(page.get_by_role("img", name="shot.png")).to_be_attached()
    await page.evaluate(paste, 10_000_001)
    await expect(page.get_by_role("alert")).to_contain_text("a picture can have up to 10.0 MB")
    await view.answer("send", {"turnId": "t", "state": "running"})
    await page.get_by_role("button", name="Send").click()
    (sent,) = await view.until_posted("send")
    picture = {"mimeType": "image/png", "data": "AAAA", "name": "shot.png"}
    assert (sent["text"], sent["pictures"]) == ("", [picture])


async def test_each_session_keeps_its_own_words_and_pictures(view: View) -> None:
    page = view.page
    picture = {"mimeType": "image/png", "data": "AAAA", "name": "shot.png"}
    other = {**SESSION, "id": "z"}
    shown = page.get_by_role("img", name="shot.png")
    box = page.get_by_role("textbox", name="Message to Marvin")
    await view.tell({**snapshot(session=other), "draft": {"text": "of the other", "pictures": [picture], "at": 1}})
    await expect(box).to_have_value("of the other")
    await expect(shown).to_be_attached()
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # what is new is told at once
    assert await view.posted("draft") == []
    await box.fill("of the other, changed")
    await view.tell(snapshot())
    await expect(box).to_have_value("")
    await expect(shown).to_have_count(0)
    (told,) = await view.posted("draft")
    assert (told["sessionId"], told["text"]) == ("z", "of the other, changed")


async def test_a_summary_is_a_line_that_opens_and_the_lines_of_a_command_stand_below_one_another(view: View) -> None:
    compaction: dict[str, Any] = {
        "type": "compaction",
        "id": "c",
        "message": {
            "role": "user",
            "id": "c",
            "parts": [{"type": "text", "text": "## Task\n\n<b>Jokes</b>", "label": "S"}],
        },
        "replaced": 42,
        "tokensBefore": 31_000,
        "tokensAfter": 4_200,
        "reason": "person",
        "note": "it said nothing",
    }
    undone = {**compaction, "id": "d", "reason": "undo", "tokensBefore": 4_200, "tokensAfter": 31_000}
    del undone["message"]
    lines = ("block           tokens", "rules              239", "42 tokens for test-model")
    notices = [{"type": "notice", "level": "note", "text": line} for line in lines]
    await view.events(1, STARTED, said("A joke."), compaction, *notices, undone)
    page = view.page
    await expect(page.get_by_text("Summary taken back", exact=True)).to_be_visible()
    line = page.get_by_text("42 earlier messages summarised", exact=True)
    await expect(page.get_by_text("31,000 → 4,200 tokens")).to_be_visible()
    await expect(page.get_by_role("heading", name="Task")).to_have_count(0)
    await line.click()
    await expect(page.get_by_role("heading", name="Task")).to_be_visible()
    await expect(page.get_by_text("No model wrote it: it said nothing")).to_be_visible()
    await expect(page.get_by_text("<b>Jokes</b>")).to_be_visible()
    await expect(page.locator(".note .mono")).to_have_text("\n".join(lines), use_inner_text=True)


async def test_a_tool_that_waits_for_an_answer_does_not_say_that_it_runs(view: View) -> None:
    tool = {"type": "tool.started", "toolCallId": "c", "name": "bash", "title": "make test", "kind": "execute"}
    asked = {"type": "permission.requested", "permission": {**PERMISSION, "toolCallId": "c"}}
    await view.events(1, STARTED, {**tool, "input": {}}, asked)
    status = view.page.get_by_role("log").locator(".tool .status")
    await expect(status).to_have_text("waits for you")
    await view.events(2, {"type": "permission.resolved", "permissionId": "q", "decision": "allowOnce", "by": "person"})
    await expect(status).to_have_text("allowed once, running")


async def test_what_began_a_failed_turn_is_sent_once_more(view: View) -> None:
    error = {"code": "auth", "message": "The key was refused.", "retryable": False}
    failed = {"type": "turn.finished", "turnId": "t", "stopReason": "failed", "error": error}
    await view.events(1, STARTED, said("Add it up", role="user", name="u"), failed)
    await view.page.get_by_role("textbox", name="Message to Marvin").fill("Something else")
    await view.page.get_by_role("button", name="Try again").click()
    (sent,) = await view.until_posted("send")
    assert sent == {"sessionId": "s", "text": "Add it up", "pictures": [], "whenBusy": "queue"}
    await expect(view.page.get_by_role("textbox", name="Message to Marvin")).to_have_value("Something else")


async def test_the_models_that_can_answer_stand_first(view: View) -> None:
    models = [{"id": "big", "contextSize": 1_048_576}]
    providers = [
        {"id": "anthropic", "status": "unavailable", "advice": "run: marvin login anthropic", "models": models},
        {"id": "groq", "status": "available", "models": models},
        {"id": "own", "status": "available", "models": models},
    ]
    options: list[Message] = [
        {"name": name, "title": name.title(), "value": value, "choices": []}
        for name, value in (("provider", "own"), ("model", "big"))
    ]
    await view.answer("models", {"providers": providers})
    await view.tell({"type": "options", "options": options})
    await view.page.get_by_role("button", name="Model: big").click()
    shown = view.page.get_by_role("dialog", name="Choose a model").get_by_role("heading")
    await expect(shown).to_contain_text(["own", "groq", "anthropic"])
    chosen = view.page.get_by_role("button", name="big 1M tokens", pressed=True)
    await expect(chosen).to_have_count(1)


async def test_what_was_added_leaves_the_cursor_in_the_input(view: View) -> None:
    await view.answer("addContext", None)
    await view.page.get_by_role("button", name="Add context").click()
    await view.page.get_by_role("menuitem", name="Selection").click()
    await expect(view.page.get_by_role("textbox", name="Message to Marvin")).to_be_focused()


async def test_the_host_is_told_whether_the_keys_go_to_the_page(view: View) -> None:
    await view.page.get_by_role("textbox", name="Message to Marvin").focus()
    assert (await view.until_posted("focused"))[-1]["isFocused"]
    await view.page.evaluate("dispatchEvent(new FocusEvent('blur'))")
    assert not (await view.posted("focused"))[-1]["isFocused"]


async def test_the_tasks_of_a_list_are_boxes(view: View) -> None:
    await view.events(1, STARTED, said("- [x] Read it\n- [ ] Mend *it*\n- [y] is none"))
    items = view.page.get_by_role("article", name="Marvin").get_by_role("listitem")
    await expect(items).to_have_text(["☑ Read it", "☐ Mend it", "[y] is none"])


async def test_a_gap_in_the_events_loads_the_session_again(view: View) -> None:
    await view.events(1, STARTED)
    await view.events(3, said("lost"))
    assert await view.until_posted("open") == [{"sessionId": "s"}]


@pytest.mark.parametrize("name", ["chat", "question", "denied", "failed", "patch", "review", "cancelled", "worked"])
async def test_a_recorded_turn_is_shown_without_an_error(browser: BrowserContext, name: str) -> None:
    async with opened(browser, "contrast", 260, 700) as view:
        await view.tell(*recorded(name))
        await expect(view.page.get_by_role("article", name="You").first).to_be_visible()
        await expect(view.page.get_by_role("button", name="Stop")).to_have_count(0)
        width = await view.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 260
