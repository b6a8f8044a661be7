from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import BrowserContext

from tests.vscode.view.page import View, opened, snapshot


@pytest_asyncio.fixture(loop_scope="session")
async def view(browser: BrowserContext) -> AsyncIterator[View]:
    """The chat view with an empty session."""
    async with opened(browser) as shown:
        await shown.tell(snapshot())
        yield shown
