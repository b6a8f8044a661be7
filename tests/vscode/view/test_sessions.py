"""Sessions in the chat view: found, opened, renamed, each with its own words."""

import pytest
from playwright.async_api import expect

from tests.vscode.view.page import SESSION, View, snapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")


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
