"""What the model changes, in the editors of the real workbench."""

from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import FrameLocator, expect

from tests.vscode.test_chat import say
from tests.vscode.window import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]
_SPACE = "\u00a0"


@pytest_asyncio.fixture(loop_scope="session")
async def chat(window: Window, repository: Path) -> FrameLocator:
    """The view beside an editor with the file that is wrong, which the model has just improved."""
    await window.open(repository)
    await window.open_file("basket.py")
    chat = await window.show_chat()
    await say(chat, "Improve it")
    await expect(window.editor).to_contain_text("result += price".replace(" ", _SPACE))
    return chat


async def test_hunks_are_kept_and_rejected_above_their_lines(chat: FrameLocator, window: Window) -> None:
    await window.picture("review")
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()
    await window.press("Reject")
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await expect(window.editor).to_contain_text("The sum of all prices.")
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)
    await window.picture("reviewed")


async def test_what_is_decided_on_is_offered_no_longer_although_the_editor_loses_the_focus(
    chat: FrameLocator, window: Window
) -> None:
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()
    await window.press("Keep")
    await expect(chat.get_by_role("button", name="Keep", exact=True)).to_have_count(0)
    await chat.get_by_label("Message to Marvin").click()
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)


async def test_what_waits_for_a_review_is_marked_in_the_next_window_without_the_chat(
    chat: FrameLocator, window: Window
) -> None:
    await window.editor.click()
    await window.page.keyboard.press("Control+s")
    await window.hide_chat()
    await window.reload()
    await window.search.wait_for()
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()


async def test_hunks_are_kept_and_rejected_in_the_chat(chat: FrameLocator, window: Window) -> None:
    await chat.get_by_role("button", name="Reject", exact=True).last.click()
    await chat.get_by_placeholder("Why not?").fill("It is no sum")
    await window.page.keyboard.press("Enter")
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await chat.get_by_role("button", name="Keep", exact=True).first.click()
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)


async def test_the_whole_change_is_shown_side_by_side(chat: FrameLocator, window: Window) -> None:
    await chat.get_by_role("button", name="Open change").first.click()
    await expect(window.page.locator(".editor.original .view-lines")).to_contain_text("-=")
    await expect(window.page.locator(".editor.modified .view-lines")).to_contain_text("+=")
    await window.picture("diff")


async def test_a_turn_is_undone_and_done_again_in_the_chat(chat: FrameLocator, window: Window) -> None:
    await chat.get_by_role("button", name="Undo this turn").click()
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await window.picture("undone")
    await chat.get_by_role("button", name="Redo").click()
    await expect(window.editor).to_contain_text("result += price".replace(" ", _SPACE))


async def test_changes_that_are_not_shown_are_named_before_all_are_kept(chat: FrameLocator, window: Window) -> None:
    await chat.get_by_role("button", name="New session").click()
    await expect(chat.get_by_role("article")).to_have_count(0)
    await window.open_file("README.md")
    box = window.page.locator(".monaco-dialog-box")
    await window.command("Marvin: Keep All Changes")
    await expect(box).to_contain_text("Keep these 2 changes?")
    await expect(box).to_contain_text("2 × shop/basket.py: made in “Improve it”")
    await window.picture("keep-all")
    await box.get_by_role("button", name="Cancel").click()
    await window.open_file("basket.py")
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(2)
    await window.open_file("README.md")
    await window.command("Marvin: Keep All Changes")
    await box.get_by_role("button", name="Keep").click()
    await window.open_file("basket.py")
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)
