"""``python -m tests.vscode.speed`` measures the extension: its size, its start, and the view during a long answer."""

import asyncio
import json
import tempfile
import time
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from tests.servers.model_server import ThreadedModelServer
from tests.vscode import extension_host
from tests.vscode.code_server import EXTENSION, CodeServer, pack
from tests.vscode.frames import WATCH, longest
from tests.vscode.model import TOKENS, answer
from tests.vscode.settings import SETTINGS, environ
from tests.vscode.window import Window, chromium, opened

_UNTIL_SAID = """(body, text) => new Promise((resolve) => {
  const look = () => body.textContent.includes(text) ? resolve() : setTimeout(look, 250);
  look();
})"""


async def measured(place: Path) -> dict[str, float]:
    """In KB: the .vsix and the bundles. In ms: the activation, from the click on the icon to a view that takes a
    prompt, an answer of 50,000 tokens from Enter to its end, and the longest frame of the view, meanwhile and for
    200 KB of each kind of text.
    """
    vsix = pack(place)
    sizes = {"vsix": vsix.stat().st_size, **{path.name: path.stat().st_size for path in (EXTENSION / "dist").iterdir()}}
    shop = place / "shop"
    shop.mkdir()
    with ThreadedModelServer(answer) as model:
        async with CodeServer(place / "vscode", vsix, SETTINGS, environ(model)) as server, chromium() as browser:
            activation = await _activation(server, browser, shop)
            async with opened(browser, server.origin, place) as window:
                times = {**await _view(window, shop), **await longest(browser)}
    in_kb = {f"{name} KB": size / 1000 for name, size in sizes.items()}
    return {name: round(value, 1) for name, value in {**in_kb, "activation ms": activation, **times}.items()}


async def _activation(server: CodeServer, browser: BrowserContext, shop: Path) -> float:
    async with opened(browser, server.origin, shop.parent) as window:
        report = await extension_host.run("activation.ts", window, server, shop, shop.parent)
    return float(report["ms"])


async def _view(window: Window, shop: Path) -> dict[str, float]:
    await window.open(shop)
    await window.page.get_by_role("tab", name="Explorer").wait_for()
    clicked = time.perf_counter()
    chat = await window.show_chat()
    box = chat.get_by_label("Message to Marvin")
    await box.fill("Much")
    await expect(chat.get_by_role("button", name="Send")).to_be_enabled()
    ready = time.perf_counter()
    body = chat.locator("body")
    await body.evaluate(WATCH)
    await box.press("Enter")
    async with asyncio.timeout(120):
        await body.evaluate(_UNTIL_SAID, f"word{TOKENS - 1}")
    ended = time.perf_counter()
    longest = await body.evaluate("() => window.frames.longest")
    return {"view ms": (ready - clicked) * 1000, "answer ms": (ended - ready) * 1000, "longest frame ms": longest}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        print(json.dumps(asyncio.run(measured(Path(folder)))))
