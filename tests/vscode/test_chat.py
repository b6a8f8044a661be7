"""The chat view in the real workbench, by mouse and by keyboard."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, FrameLocator, expect

from tests.patience import SECONDS
from tests.processes import processes_with
from tests.vscode.chat import begin_anew, decide, say
from tests.vscode.code_server import MARVIN, CodeServer
from tests.vscode.window import Window, opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


async def test_an_answer_is_shown_as_it_comes_and_can_be_stopped(window: Window, chat: FrameLocator) -> None:
    await say(chat, "Slowly please")
    answer = chat.get_by_role("article", name="Marvin").last
    await expect(answer).to_contain_text("word20")
    await window.picture("streaming")
    await chat.get_by_role("button", name="Stop", exact=True).click()
    await expect(chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    await expect(answer).to_contain_text("word20")
    await window.picture("stopped")


async def test_the_keys_of_the_chat_list_the_sessions_begin_one_and_stop(window: Window, chat: FrameLocator) -> None:
    await say(chat, "Slowly please")
    answer = chat.get_by_role("article", name="Marvin").last
    await expect(answer).to_contain_text("word20")
    keyboard = window.page.keyboard
    await keyboard.press("Alt+O")
    sessions = window.page.locator(".quick-input-widget")
    await expect(sessions).to_contain_text("Marvin: Sessions")
    await keyboard.press("Escape")
    await sessions.wait_for(state="hidden")
    await chat.get_by_label("Message to Marvin").click()
    await keyboard.press("Shift+Escape")
    await expect(chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    await keyboard.press("Alt+N")
    await chat.get_by_role("heading", name="New session", exact=True).wait_for()


async def test_an_answer_is_markdown_with_code_in_colours(window: Window, chat: FrameLocator) -> None:
    await say(chat, "Why does it fail?")
    answer = chat.get_by_role("article", name="Marvin").last
    await expect(answer.locator("strong")).to_have_text("subtracts")
    await expect(answer.locator("pre code")).to_contain_text("for price in prices:")
    await expect(answer.locator("pre code span").first).to_be_visible()
    await expect(answer.locator("td")).to_have_text(["250, 150", "-400"])
    await window.picture("answer")


async def test_a_command_is_allowed_by_mouse(window: Window, chat: FrameLocator, repository: Path) -> None:
    await say(chat, "Run python3 -m unittest --quiet 2>&1 | tee result.txt")
    question = chat.get_by_role("region", name="Question")
    await expect(question).to_contain_text("python3 -m unittest --quiet 2>&1 | tee result.txt")
    await expect(question).to_contain_text(str(repository))
    await window.picture("question")
    assert not (repository / "result.txt").exists()
    await decide(chat, "Allow once")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Done.")
    assert (repository / "result.txt").exists()
    await window.picture("command")


async def test_a_command_is_denied_by_keyboard(chat: FrameLocator, window: Window, repository: Path) -> None:
    await say(chat, "Run touch unwanted")
    deny = chat.get_by_role("region", name="Question").get_by_role("button", name="Deny", exact=True)
    await expect(deny).to_be_enabled()
    while not await deny.evaluate("node => node === document.activeElement"):
        await window.page.keyboard.press("Shift+Tab")
    async with asyncio.timeout(SECONDS):
        while await deny.count():  # an answer to a question that has only just come is not taken
            await window.page.keyboard.press("Enter")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Done.")
    assert not (repository / "unwanted").exists()


async def test_a_question_is_a_notification_while_the_view_is_hidden(
    chat: FrameLocator, window: Window, repository: Path
) -> None:
    await say(chat, "Run touch wanted")
    await chat.get_by_role("region", name="Question").wait_for()
    await window.page.keyboard.press("Control+Shift+E")
    toast = window.notifications.filter(has_text="touch wanted")
    await expect(toast).to_contain_text(str(repository))
    await window.picture("notification")
    await toast.get_by_role("button", name="Allow once").click()
    await window.show_chat()
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Done.")
    assert (repository / "wanted").exists()


async def test_a_question_is_answered_in_a_box_only_where_that_shows_all_of_it(
    chat: FrameLocator, window: Window, repository: Path
) -> None:
    await say(chat, "Run touch boxed")
    await chat.get_by_role("region", name="Question").wait_for()
    await window.hide_chat()
    await window.command("Marvin: Answer What Is Asked")
    box = window.page.locator(".monaco-dialog-box")
    await expect(box).to_contain_text("May this command run (session “Run touch boxed”)?")
    await expect(box).to_contain_text(str(repository))
    await window.picture("box")
    await box.get_by_role("button", name="Allow once").click()
    await window.show_chat()
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Done.")
    assert (repository / "boxed").exists()
    await say(chat, "Run touch two  spaces")
    await chat.get_by_role("region", name="Question").wait_for()
    await window.hide_chat()
    toast = window.notifications.filter(has_text="It cannot be shown whole here.")
    await expect(toast.get_by_role("button", name="Deny")).to_be_visible()
    await expect(toast.get_by_role("button", name="Allow")).to_have_count(0)
    await window.command("Marvin: Answer What Is Asked")
    question = chat.get_by_role("region", name="Question")
    await expect(question).to_contain_text("touch two  spaces")
    await expect(box).to_have_count(0)
    await chat.get_by_role("button", name="Stop", exact=True).click()
    await expect(question).to_have_count(0)


async def test_a_reload_keeps_conversation_and_draft(chat: FrameLocator, window: Window) -> None:
    await say(chat, "Remember this")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("You said: Remember this")
    await chat.get_by_label("Message to Marvin").fill("not sent yet")
    await window.command("View: Show Explorer")
    await window.show_chat()
    await expect(chat.get_by_label("Message to Marvin")).to_have_value("not sent yet")
    await window.kept("not sent yet")
    await window.reload()
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("You said: Remember this")
    await expect(chat.get_by_label("Message to Marvin")).to_have_value("not sent yet")


async def test_a_window_starts_no_server_before_it_is_needed(
    chat: FrameLocator, window: Window, repository: Path
) -> None:
    await say(chat, "Remember this")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("You said: Remember this")
    await window.hide_chat()
    before = await _server(window, repository)
    await window.reload()
    await window.search.wait_for()
    await window.page.locator(".statusbar-item", has_text="Marvin").wait_for()
    assert [server for server in _servers(repository) if server != before] == []
    await window.show_chat()
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("You said: Remember this")


async def test_a_turn_whose_server_is_killed_keeps_its_words_and_says_so(
    chat: FrameLocator, window: Window, repository: Path
) -> None:
    await say(chat, "Slowly please")
    answer = chat.get_by_role("article", name="Marvin")
    await expect(answer).to_contain_text("word20")
    os.kill(await _server(window, repository), signal.SIGKILL)
    word = chat.get_by_role("log").get_by_text("The server ended during this turn.")
    await expect(word).to_be_visible()
    await say(chat, "After it")
    await expect(answer.last).to_contain_text("You said: After it")
    await expect(answer.first).to_contain_text("word20")
    await expect(word).to_have_count(1)
    await window.picture("killed")


async def _server(window: Window, folder: Path) -> int:
    """The only server that works in a folder, once that of the window before a reload has ended."""
    async with asyncio.timeout(SECONDS):
        while len(found := _servers(folder)) != 1:
            await window.page.wait_for_timeout(100)
    return found[0]


def _servers(folder: Path) -> list[int]:
    """The processes of Marvin's server that work in a folder."""
    found: list[int] = []
    for pid in processes_with(f"{MARVIN}\0lsp"):
        with suppress(OSError):  # it has ended meanwhile
            if Path(f"/proc/{pid}/cwd").resolve() == folder:
                found.append(pid)
    return found


async def test_what_another_window_has_heard_is_here_when_a_message_that_waited_is_answered(
    chat: FrameLocator, window: Window, vscode: CodeServer, browser: BrowserContext, repository: Path, tmp_path: Path
) -> None:
    await say(chat, "Slowly for two windows")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("word20")
    async with opened(browser, vscode.origin, tmp_path) as other:
        await other.open(repository)
        second = await other.show_chat()
        await second.get_by_role("button", name="Sessions").click()
        await second.get_by_role("button", name="Slowly for two windows").first.click()
        await expect(second.get_by_role("log")).to_contain_text("from another window")
        await say(second, "And here")
        await expect(second.get_by_role("log")).to_contain_text("Waits until this turn has ended")
        await chat.get_by_role("button", name="Stop", exact=True).click()
        answers = second.get_by_role("article", name="Marvin")
        await expect(answers.last).to_contain_text("You said: And here")
        await expect(answers.first).to_contain_text("word20")


async def test_an_earlier_session_is_found_and_gone_on_with(chat: FrameLocator, window: Window) -> None:
    await say(chat, "The first conversation")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("The first conversation")
    await begin_anew(chat)
    await window.picture("empty")
    await say(chat, "Another one")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Another one")
    await chat.get_by_role("button", name="Sessions").click()
    await chat.get_by_text("shown now").wait_for()
    await window.picture("sessions")
    await chat.get_by_role("button", name="The first conversation").first.click()
    await expect(chat.get_by_role("article", name="You").first).to_contain_text("The first conversation")
    await say(chat, "And on")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("And on")


async def test_a_session_is_deleted_only_after_a_second_word(chat: FrameLocator, window: Window) -> None:
    await say(chat, "Forget this")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("Forget this")
    await chat.get_by_role("button", name="Session menu").click()
    await chat.get_by_role("menuitem", name="Delete").click()
    await window.page.locator(".monaco-dialog-box").get_by_role("button", name="Delete").click()
    await expect(chat.get_by_role("article")).to_have_count(0)
    await chat.get_by_role("button", name="Sessions").click()
    await chat.get_by_text("shown now").wait_for()
    await expect(chat.get_by_text("Forget this")).to_have_count(0)
