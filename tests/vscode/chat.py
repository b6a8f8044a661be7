"""What a person does in the chat view."""

import asyncio
from contextlib import suppress

from playwright.async_api import FrameLocator, expect
from playwright.async_api import TimeoutError as TimedOut

from tests.patience import SECONDS


async def begin_anew(chat: FrameLocator) -> None:
    """Press the button for a new session; what is typed before that is shown belongs to the old one."""
    await chat.get_by_role("button", name="New session", exact=True).click()
    await chat.get_by_role("heading", name="New session", exact=True).wait_for()
    await expect(chat.get_by_role("article")).to_have_count(0)


async def say(chat: FrameLocator, text: str) -> None:
    """Type a prompt and send it by Enter."""
    box = chat.get_by_label("Message to Marvin")
    await box.fill(text)
    await expect(chat.get_by_role("button", name="Send")).to_be_enabled()
    await box.press("Enter")
    await expect(chat.get_by_role("article", name="You").last).to_contain_text(text)


async def decide(chat: FrameLocator, button: str) -> None:
    """Answer the question that is asked by a button; while it has only just come, it takes no answer."""
    chosen = chat.get_by_role("region", name="Question").get_by_role("button", name=button, exact=True)
    await chosen.wait_for()
    async with asyncio.timeout(SECONDS):
        while await chosen.count():
            with suppress(AssertionError, TimedOut):
                await chosen.click(timeout=1000)
                await expect(chosen).to_have_count(0, timeout=1000)
