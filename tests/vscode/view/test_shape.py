"""How the chat view lies in the place that it has: narrow, low, and with wide things in it."""

import pytest
from playwright.async_api import BrowserContext, expect

from tests.vscode.view.events import PERMISSION, STARTED, said
from tests.vscode.view.page import View, opened, snapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")

WAYS = ("Allow once", "Allow for this session", "Deny", "Edit, then allow", "Deny with a note", "Deny and stop")

ON_TOP = """button => {
  const { x, y, width, height } = button.getBoundingClientRect();
  return button.contains(document.elementFromPoint(x + width / 2, y + height - 2));
}"""


async def test_in_a_low_view_a_question_has_all_its_answers_in_sight(browser: BrowserContext) -> None:
    async with opened(browser, width=300, height=300) as view:
        await view.tell(snapshot())
        await view.events(1, STARTED, {"type": "permission.requested", "permission": PERMISSION})
        for name in WAYS:
            way = view.page.get_by_role("button", name=name, exact=True)
            await expect(way).to_be_in_viewport(ratio=1)
            assert await way.evaluate(ON_TOP), name


async def test_in_a_low_view_who_writes_goes_on_writing_when_a_question_comes(browser: BrowserContext) -> None:
    async with opened(browser, width=300, height=300) as view:
        await view.tell(snapshot())
        box = view.page.get_by_role("textbox", name="Message to Marvin")
        await box.press_sequentially("Wait ")
        await view.events(1, STARTED, {"type": "permission.requested", "permission": PERMISSION})
        await view.page.get_by_role("region", name="Question").wait_for()
        await view.page.keyboard.type("yes")
        await expect(box).to_have_value("Wait yes")
        assert await view.posted("answer") == []


async def test_a_wide_table_keeps_its_words_whole_and_is_moved_sideways(view: View) -> None:
    await view.page.set_viewport_size({"width": 300, "height": 800})
    head = "|".join(f"Column{number}" for number in range(8))
    await view.events(1, STARTED, said(f"|{head}|\n|{'-|' * 8}\n|{head}|"))
    cell = view.page.get_by_role("columnheader", name="Column0")
    height = await cell.evaluate("cell => cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight)")
    assert height < 2
    table = view.page.get_by_role("group", name="Table")
    assert await table.evaluate("box => box.scrollWidth > box.clientWidth")
    assert await view.page.evaluate("document.documentElement.scrollWidth") <= 300


async def test_a_command_that_is_edited_is_seen_whole(view: View) -> None:
    command = {**PERMISSION["command"], "display": "make test " * 30}
    await view.events(1, STARTED, {"type": "permission.requested", "permission": {**PERMISSION, "command": command}})
    await view.page.evaluate("new Promise(done => setTimeout(done, 450))")
    await view.page.get_by_role("button", name="Edit, then allow").click()
    box = view.page.get_by_role("textbox", name="The command to run instead")
    assert await box.evaluate("box => box.scrollHeight <= box.clientHeight + 1")


async def test_each_paragraph_has_the_direction_of_its_own_words(view: View) -> None:
    await view.events(1, STARTED, said("Hello.\n\n\u0645\u0631\u062d\u0628\u0627."))
    words = view.page.locator(".markdown p")
    await expect(words).to_have_count(2)
    sides = await words.evaluate_all("""paragraphs => paragraphs.map(paragraph => {
      const range = document.createRange();
      range.selectNodeContents(paragraph);
      const [text, box] = [range.getBoundingClientRect(), paragraph.getBoundingClientRect()];
      return text.left - box.left < box.right - text.right ? "left" : "right";
    })""")
    assert sides == ["left", "right"]
