"""``python -m tests.vscode.pictures FOLDER`` takes the pictures of the documentation, dark and light."""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import expect

from tests.conftest import shop
from tests.servers.model_server import ThreadedModelServer
from tests.vscode.chat import begin_anew, decide, say
from tests.vscode.code_server import CodeServer, pack
from tests.vscode.model import answer
from tests.vscode.settings import SETTINGS, environ
from tests.vscode.window import Window, chromium


async def take(place: Path, repository: Path, folder: Path) -> None:
    """Save an answer, a question and a review of ``repository`` as PNG files in ``folder``; VS Code is in ``place``."""
    with ThreadedModelServer(answer) as model:
        async with (
            CodeServer(place / "vscode", pack(place), SETTINGS, environ(model)) as server,
            chromium() as browser,
        ):
            window = Window(await browser.new_page(), server.origin, folder)
            await window.open(repository, openFile=str(repository / "shop" / "basket.py"))
            chat = await window.show_chat()
            last = chat.get_by_role("article", name="Marvin").last
            await say(chat, "Why does total give the wrong sum?")
            await expect(last.locator("td").last).to_be_visible()
            await window.picture("vscode-answer")
            await say(chat, "Run python3 -m unittest --quiet")
            await chat.get_by_role("region", name="Question").wait_for()
            await window.picture("vscode-question")
            await decide(chat, "Allow once")
            await expect(last).to_contain_text("Done.")
            await begin_anew(chat)
            await say(chat, "Improve basket.py")
            await expect(last).to_contain_text("Done.")
            await window.page.get_by_text("(2 of 2)").wait_for()
            await window.picture("vscode-review")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        place = Path(temporary)
        asyncio.run(take(place, shop(place / "shop"), Path(sys.argv[1])))
