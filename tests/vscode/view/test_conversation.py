"""What is shown of a conversation in the chat view, and how it moves."""

from typing import Any

import pytest
from playwright.async_api import BrowserContext, expect

from tests.vscode.view.events import PERMISSION, STARTED, said
from tests.vscode.view.page import SESSION, View, opened, recorded, snapshot

pytestmark = pytest.mark.asyncio(loop_scope="session")


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
    lines = "\n\n".join(f"Line {at}" for at in range(200))
    seq = 1
    await view.events(seq, STARTED)
    while not await log.evaluate("log => log.scrollTop"):
        seq += 1
        await view.events(seq, {"type": "message.delta", "messageId": "a", "text": "Line\n\n"})
    # From now on, since the page's own observer comes first: after it has followed, in the same frame.
    await page.evaluate(
        """() => new Promise((begun) => {
          const content = document.querySelector("[role=log] > *");
          let goesUp = false;
          new ResizeObserver(() => {
            if (goesUp) {
              content.parentElement.scrollTo(0, 1000);
            }
            goesUp = true;
            begun();
          }).observe(content);
        })"""
    )
    await view.events(seq + 1, {"type": "message.delta", "messageId": "a", "text": lines})
    await page.wait_for_function("() => document.querySelector('[role=log]').scrollTop === 1000")
    await view.events(seq + 2, {"type": "message.delta", "messageId": "a", "text": f"\n\n{lines}"})
    await expect(page.get_by_role("button", name="New text below")).to_be_visible()
    assert await log.evaluate("log => log.scrollTop") == 1000


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
