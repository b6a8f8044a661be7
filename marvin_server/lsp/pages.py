"""Texts that a person is shown in the editor: private files that it opens, kept for a week."""

import os
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from marvin_server.lsp.refusals import Refusal
from marvin_server.messages import new_id

Request = Callable[[str, Any, float], Awaitable[Any]]
_KEPT_SECONDS = 7 * 24 * 3600
_WAIT_SECONDS = 10.0
_NO_WORD = re.compile(r"[^\w.]+")


class Pages:
    """Writes pages to ``folder`` and has the editor show them. ``request`` sends a request to the client and waits as
    many seconds as it is given; ``can_show`` says whether the client takes ``window/showDocument``."""

    def __init__(self, folder: Path, request: Request, *, can_show: bool) -> None:
        self._folder = folder
        self._request = request
        self._can_show = can_show

    def write(self, name: str, text: str) -> Path:
        """A new file with ``text`` that only its owner can read; pages that are older than a week are removed.

        ``name`` has the suffix that tells an editor what it is. Raises ``OSError``.
        """
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._sweep()
        stem, dot, suffix = _NO_WORD.sub("-", name).rpartition(".")
        page = self._folder / f"{stem[:60].strip('-.')}-{new_id()}{dot}{suffix}"
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return page

    async def show(self, page: Path) -> bool:
        """Have it shown beside what the person is at, and say whether the editor says that it is."""
        if not self._can_show:
            return False
        try:
            # Without takeFocus Neovim shows it in place of the code.
            asked = {"uri": page.as_uri(), "takeFocus": False}
            answer = await self._request("window/showDocument", asked, _WAIT_SECONDS)
        except (Refusal, TimeoutError):
            return False
        return isinstance(answer, dict) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType]

    def _sweep(self) -> None:
        oldest = time.time() - _KEPT_SECONDS
        for page in self._folder.iterdir():
            with suppress(OSError):
                if page.stat().st_mtime < oldest:
                    page.unlink()
