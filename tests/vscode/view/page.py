"""The chat view alone, in Chromium, with the test in the place of the extension host.

The page is built first (``npm run build`` in editors/vscode). What it shows comes from recorded transcripts or is told
by the test, as ``ToView`` of editors/vscode/src/shared/messages.ts has it.
"""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import BrowserContext, Page

from tests.vscode.code_server import EXTENSION

HERE = Path(__file__).parent
TRANSCRIPTS = HERE.parents[1] / "transcripts"

Message = dict[str, Any]
Theme = Literal["dark", "light", "contrast"]

SESSION: Message = {
    "id": "s",
    "title": "",
    "cwd": "/workspace",
    "mode": "auto",
    "model": "test-model",
    "createdAt": "2026-01-01T00:00:00.000000Z",
    "updatedAt": "2026-01-01T00:00:00.000000Z",
    "busy": False,
}


def snapshot(**parts: Any) -> Message:
    """``loaded`` with an empty session, but for ``parts`` of the snapshot."""
    empty: Message = {
        "session": SESSION,
        "items": [],
        "seq": 0,
        "openPermissions": [],
        "pendingPatches": [],
        "queued": [],
        "drafts": [],
    }
    return {"type": "loaded", "snapshot": {**empty, **parts}, "draft": {"text": "", "pictures": [], "at": 0}}


def recorded(name: str) -> list[Message]:
    """What a view is told of a recorded transcript: the session, then all notifications of its turns."""
    lines = [json.loads(line)["message"] for line in (TRANSCRIPTS / f"{name}.jsonl").read_text().splitlines()]
    (session,) = [
        line["result"]["session"] for line in lines if "session" in (line.get("result") or {}) and line["id"] == 2
    ]
    events = [line["params"] for line in lines if line.get("method") == "marvin/turn/events"]
    return [snapshot(session=session), *({"type": "events", "events": each} for each in events)]


class View:
    """The page, as its host has it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def tell(self, *messages: Message) -> None:
        await self.page.evaluate("messages => tell(...messages)", list(messages))

    async def events(self, seq: int, *events: Message, turn: str = "t") -> None:
        """One notification of the session ``SESSION``."""
        params = {"sessionId": SESSION["id"], "turnId": turn, "seq": seq, "events": list(events)}
        await self.tell({"type": "events", "events": params})

    async def answer(self, method: str, result: Any = None, error: str | None = None) -> None:
        """How requests of this method are answered from now on."""
        answer = {"result": result} if error is None else {"error": error}
        await self.page.evaluate("([method, answer]) => { answers[method] = answer }", [method, answer])

    async def posted(self, kind: str) -> list[Message]:
        """The parameters of all requests with a method, or the messages of a type, that the page has posted."""
        sent: list[Message] = await self.page.evaluate("posted")
        return [each.get("params", each) for each in sent if kind in (each["type"], each.get("method"))]

    async def until_posted(self, kind: str, count: int = 1) -> list[Message]:
        await self.page.wait_for_function(
            "([kind, count]) => posted.filter(each => [each.type, each.method].includes(kind)).length >= count",
            arg=[kind, count],
        )
        return await self.posted(kind)


class _Files(SimpleHTTPRequestHandler):
    """The page's own folder, and the bundle under ``/dist``."""

    def translate_path(self, path: str) -> str:
        name = path.partition("?")[0].lstrip("/")
        return str(EXTENSION / name if name.startswith("dist/") else HERE / "page" / (name or "index.html"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the base class has it)
        pass


@asynccontextmanager
async def opened(
    browser: BrowserContext, theme: Theme = "dark", width: int = 420, height: int = 800
) -> AsyncGenerator[View]:
    """The page, connected, with no session yet. It fails at the end when the page had an error."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    page = await browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    try:
        await page.set_viewport_size({"width": width, "height": height})
        await page.goto(f"http://127.0.0.1:{server.server_port}/?theme={theme}")
        view = View(page)
        await view.tell({"type": "connection", "connection": {"state": "ready", "message": ""}})
        yield view
        assert not errors, errors
    finally:
        await page.close()
        await asyncio.to_thread(server.shutdown)
        thread.join()
        server.server_close()
