"""``python -m tests.vscode.pictures FOLDER`` takes the pictures of the documentation, dark and light."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.async_api import expect

from tests.servers.model_server import ThreadedModelServer
from tests.vscode.code_server import CodeServer, pack
from tests.vscode.model import answer
from tests.vscode.settings import SETTINGS, environ
from tests.vscode.test_chat import say
from tests.vscode.window import Window, chromium

_BASKET = '''"""What a customer wants to buy."""


def total(prices: list[int]) -> int:
    """The sum of all prices, in cents."""
    result = 0
    for price in prices:
        result -= price
    return result
'''


async def take(place: Path, shop: Path, folder: Path) -> None:
    """Save an answer, a question and a review of ``shop`` as PNG files in ``folder``; VS Code is in ``place``."""
    with ThreadedModelServer(answer) as model:
        async with (
            CodeServer(place / "vscode", pack(place), SETTINGS, environ(model)) as server,
            chromium() as browser,
        ):
            window = Window(await browser.new_page(), server.origin, folder)
            await window.open(shop)
            await window.open_file("basket.py")
            chat = await window.show_chat()
            last = chat.get_by_role("article", name="Marvin").last
            await say(chat, "Why does total give the wrong sum?")
            await expect(last.locator("td").last).to_be_visible()
            await window.picture("vscode-answer")
            await say(chat, "Run python3 -m unittest --quiet")
            await chat.get_by_role("region", name="Question").wait_for()
            await window.picture("vscode-question")
            await chat.get_by_role("button", name="Allow once").click()
            await expect(last).to_contain_text("Done.")
            await chat.get_by_role("button", name="New session").click()
            await say(chat, "Improve basket.py")
            await expect(last).to_contain_text("Done.")
            await window.page.get_by_text("(2 of 2)").wait_for()
            await window.picture("vscode-review")


def _shop(place: Path) -> Path:
    shop = place / "shop"
    (shop / "shop").mkdir(parents=True)
    (shop / "shop" / "basket.py").write_text(_BASKET)
    subprocess.run(("git", "init", "--quiet", "--initial-branch=main", shop), check=True)
    return shop


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        asyncio.run(take(Path(temporary), _shop(Path(temporary)), Path(sys.argv[1])))
