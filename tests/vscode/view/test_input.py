"""What the person types and adds in the chat view, and how it is sent."""

import pytest
from playwright.async_api import expect

from tests.vscode.view.events import STARTED, said
from tests.vscode.view.page import SESSION, Message, View, snapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")


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
