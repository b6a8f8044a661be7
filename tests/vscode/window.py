"""A window of the workbench in Chromium, used as a person uses it: by what is on the screen, the mouse and the keys."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.async_api import BrowserContext, FrameLocator, Locator, Page, async_playwright, expect

from tests.patience import SECONDS

SIZE = (1280, 800)
_THEMES: Mapping[Literal["light", "dark"], str] = {"light": "vs", "dark": "vs-dark"}
_VIEW = 'iframe.webview.ready[src*="extensionId=marvin-assistant.marvin"]'
_STORED = """async ([folder, key, part]) => {
  const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  let hash = 0;
  for (const code of [149417, ...Array.from(folder, (letter) => letter.charCodeAt(0))]) {
    hash = ((hash << 5) - hash + code) | 0;
  }
  const isOurs = ({ name }) => name.startsWith(`vscode-web-state-db-${hash.toString(16)}-`);
  const database = await done(indexedDB.open((await indexedDB.databases()).find(isOurs).name));
  const items = () => database.transaction("ItemTable").objectStore("ItemTable");
  while (!(await done(items().get(key)))?.includes(part)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  database.close();
}"""
"""Until VS Code has stored of the window on a folder what has this part under this key. What it stores of a window
is in a database that is named by a hash of the folder's URI (``hash`` of its base/common/hash.ts)."""
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


@asynccontextmanager
async def chromium() -> AsyncGenerator[BrowserContext]:
    """Debian's Chromium without a screen; a window of it is 1280 by 800."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=_OPTIONS)
        width, height = SIZE
        context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark")
        context.set_default_timeout(SECONDS * 1000)
        expect.set_options(timeout=SECONDS * 1000)
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        try:
            yield context
        finally:
            await browser.close()


@asynccontextmanager
async def opened(browser: BrowserContext, origin: str, place: Path) -> AsyncGenerator["Window"]:
    """A window of the code-server at ``origin``; pictures, its last screen and its console are left in ``place``."""
    page = await browser.new_page()
    window = Window(page, origin, place / "pictures")
    try:
        yield window
    finally:
        await window.leave(place)
        await page.close()


class Window:
    """The workbench of the code-server at ``origin`` in a page of the browser; its pictures go into a folder."""

    def __init__(self, page: Page, origin: str, pictures: Path) -> None:
        self.page = page
        self.said: list[str] = []
        """What the page's console was told."""
        self._origin = origin
        self._remote = origin.replace("http", "vscode-remote", 1)
        self._place = ""
        self._pictures = pictures
        page.on("console", lambda message: self.said.append(message.text))

    async def open(self, place: Path, **payload: str) -> None:
        """Show a folder, or a ``.code-workspace`` file; ``payload`` has options of VS Code's own, such as ``openFile``,
        each of them a path."""
        self._place = f"{self._remote}{place}"
        kind = "workspace" if place.suffix == ".code-workspace" else "folder"
        query = {kind: str(place)}
        if payload:
            query["payload"] = json.dumps([[name, f"{self._remote}{value}"] for name, value in payload.items()])
        await self.page.goto(f"{self._origin}/?{urlencode(query)}")
        await self.page.locator(".monaco-workbench").wait_for()

    @property
    def chat(self) -> FrameLocator:
        """Marvin's view; a webview is two frames deep."""
        return self.page.frame_locator(_VIEW).frame_locator("#active-frame")

    @property
    def editor(self) -> Locator:
        """The text of the editor that is shown; its spaces are no-break spaces."""
        return self.page.locator(".editor-instance .view-lines").first

    @property
    def notifications(self) -> Locator:
        return self.page.locator(".notifications-toasts")

    async def show_chat(self) -> FrameLocator:
        """Open Marvin's view by its icon, which would close it where it is shown."""
        icon = self.page.locator('.activitybar .action-item:has(a.action-label[aria-label^="Marvin"])')
        await icon.wait_for()
        if "checked" not in (await icon.get_attribute("class") or ""):
            await icon.click()
        await self.page.mouse.move(SIZE[0] / 2, SIZE[1] / 2)  # away, so that no tooltip comes up
        return self.chat

    async def hide_chat(self) -> None:
        """Show the search in its place, after a reload, too: VS Code stores that a little later."""
        await self.command("View: Show Search")
        await self.search.wait_for()
        await self._stored("workbench.sidebar.activeviewletid", "workbench.view.search")

    async def kept(self, words: str) -> None:
        """Wait until VS Code has stored what the extension keeps of a workspace, with these words in it: what was
        changed in the moment before a reload is lost."""
        await self._stored("marvin-assistant.marvin", words)

    @property
    def search(self) -> Locator:
        return self.page.locator(".search-view")

    async def open_file(self, name: str) -> None:
        """Open a file of the workspace by its name, from the box in the title bar."""
        await self._pick(name)
        await self.page.locator(f'.tab.active[data-resource-name="{Path(name).name}"]').wait_for()

    async def command(self, title: str) -> None:
        """Run a command by its title, from the same box."""
        await self._pick(f">{title}")

    async def press(self, title: str) -> None:
        """Click a button that stands above a line of the editor (a CodeLens)."""
        await self.page.locator(".codelens-decoration a", has_text=re.compile(rf"^{title}$")).first.click()

    async def reload(self) -> None:
        await self.page.reload()
        await self.page.locator(".monaco-workbench").wait_for()

    async def picture(self, name: str) -> None:
        """Save the screen as ``NAME-dark.png`` and ``NAME-light.png``; the workbench follows the system's colours."""
        self._pictures.mkdir(parents=True, exist_ok=True)
        for scheme, theme in _THEMES.items():
            await self.page.emulate_media(color_scheme=scheme)
            await self.page.locator(f".monaco-workbench.{theme}").wait_for()
            if await self.page.locator(_VIEW).count():
                await self.chat.locator(f"body.vscode-{scheme}").wait_for()
            await self.page.screenshot(path=self._pictures / f"{name}-{scheme}.png", animations="disabled")

    async def leave(self, place: Path) -> None:
        """Leave the screen, and what the console was told, in a folder."""
        await self.page.screenshot(path=place / "last.png")
        (place / "console.txt").write_text("\n".join(self.said))
        print(f"The screen and the console are in {place}")

    async def _stored(self, key: str, part: str) -> None:
        async with asyncio.timeout(SECONDS):
            await self.page.evaluate(_STORED, [self._place, key, part])

    async def _pick(self, text: str) -> None:
        await self.page.locator(".command-center-center").click()
        box = self.page.locator(".quick-input-widget")
        await box.locator("input[type=text]").fill(text)
        wanted = text.removeprefix(">")
        await box.locator(".monaco-list-row.focused", has_text=wanted).first.wait_for()
        await self.page.keyboard.press("Enter")
        await box.wait_for(state="hidden")
