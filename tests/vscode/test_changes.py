"""What the model changes, in the editors of the real workbench."""

import subprocess
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import FrameLocator, expect

from tests.vscode.chat import begin_anew, say
from tests.vscode.window import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
_SPACE = "\u00a0"


@pytest_asyncio.fixture(loop_scope="session")
async def changed(chat: FrameLocator, window: Window, repository: Path) -> FrameLocator:
    """The view beside an editor with the file that was wrong, which the model has just improved."""
    _restore(repository)
    await window.open_file("basket.py")
    await window.command("File: Revert File")
    await expect(window.editor).to_contain_text("prices, in cents".replace(" ", _SPACE))
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await say(chat, "Improve it")
    await expect(window.editor).to_contain_text("result += price".replace(" ", _SPACE))
    return chat


def _restore(repository: Path) -> None:
    """As it was committed."""
    subprocess.run(("git", "checkout", "--quiet", "."), cwd=repository, check=True)


async def test_hunks_are_kept_and_rejected_above_their_lines(changed: FrameLocator, window: Window) -> None:
    await window.picture("review")
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()
    await window.press("Reject")
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await expect(window.editor).to_contain_text("The sum of all prices.")
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)
    await window.picture("reviewed")


async def test_what_is_decided_on_is_offered_no_longer_although_the_editor_loses_the_focus(
    changed: FrameLocator, window: Window
) -> None:
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()
    await window.press("Keep")
    await expect(changed.get_by_role("button", name="Keep", exact=True)).to_have_count(0)
    await changed.get_by_label("Message to Marvin").click()
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)


async def test_what_waits_for_a_review_is_marked_in_the_next_window_without_the_chat(
    changed: FrameLocator, window: Window
) -> None:
    await window.editor.click()
    await window.page.keyboard.press("Control+s")
    await window.hide_chat()
    await window.kept('"marvin.review":true')
    await window.reload()
    await window.search.wait_for()
    await window.press("Keep")
    await window.page.get_by_text("Marvin changed this (1 of 1)").wait_for()
    await window.press("Keep")
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)


async def test_hunks_are_kept_and_rejected_in_the_chat(changed: FrameLocator, window: Window) -> None:
    await changed.get_by_role("button", name="Reject", exact=True).last.click()
    await changed.get_by_placeholder("Why not?").fill("It is no sum")
    await window.page.keyboard.press("Enter")
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await changed.get_by_role("button", name="Keep", exact=True).first.click()
    await expect(window.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)


async def test_the_whole_change_is_shown_side_by_side(changed: FrameLocator, window: Window) -> None:
    await changed.get_by_role("button", name="Open change").first.click()
    await expect(window.page.locator(".editor.original .view-lines")).to_contain_text("-=")
    await expect(window.page.locator(".editor.modified .view-lines")).to_contain_text("+=")
    await window.picture("diff")
    await changed.get_by_role("button", name="Keep all").click()
    await expect(changed.get_by_role("button", name="Keep", exact=True)).to_have_count(0)


async def test_a_turn_is_undone_and_done_again_in_the_chat(changed: FrameLocator, window: Window) -> None:
    await changed.get_by_role("button", name="Undo this turn").click()
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))
    await window.picture("undone")
    await changed.get_by_role("button", name="Redo").click()
    await expect(window.editor).to_contain_text("result += price".replace(" ", _SPACE))


async def test_a_change_that_was_undone_in_the_editor_is_said_to_be_gone_until_it_is_done_again(
    changed: FrameLocator, window: Window
) -> None:
    await expect(changed.get_by_text("Written. You can still take it back.")).to_be_visible()
    await window.editor.click()
    await window.page.keyboard.press("Control+z")
    gone = changed.get_by_text("Not in the file any more: undone, or changed since.")
    await expect(gone).to_be_visible()
    await expect(changed.get_by_role("button", name="Reject")).to_have_count(0)
    await expect(window.page.locator(".statusbar-item", has_text="to review")).to_have_count(0)
    await window.picture("gone")
    await window.page.keyboard.press("Control+y")
    await expect(changed.get_by_text("Written. You can still take it back.")).to_be_visible()
    await window.page.keyboard.press("Control+z")
    await changed.get_by_role("button", name="Dismiss").last.click()
    await expect(gone).to_have_count(0)
    await expect(window.editor).to_contain_text("result -= price".replace(" ", _SPACE))


async def test_changes_that_are_not_shown_are_named_before_all_are_kept(changed: FrameLocator, window: Window) -> None:
    await begin_anew(changed)
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
