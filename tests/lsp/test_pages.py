"""Pages: private, named so that an editor knows what they are, and gone after a week."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from marvin_server.lsp.pages import Pages


async def nobody(method: str, params: Any, seconds: float) -> Any:
    raise AssertionError("nothing is asked of a client that cannot show documents")


@pytest.mark.parametrize(
    ("name", "begins"),
    [("Explain a.py:3-4.md", "Explain-a.py-3-4-"), ("../../etc/passwd.md", "etc-passwd-"), ("a" * 300 + ".md", "aaa")],
)
async def test_a_page_stays_in_its_folder_and_is_its_owner_s(tmp_path: Path, name: str, begins: str) -> None:
    folder = tmp_path / "cache" / "pages"
    pages = Pages(folder, nobody, can_show=False)
    page = pages.write(name, "wörds")
    assert page.parent == folder
    assert page.name.startswith(begins)
    assert page.suffix == ".md"
    assert (page.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert page.read_text(encoding="utf-8") == "wörds"
    assert await pages.show(page) is False


async def test_only_pages_older_than_a_week_are_removed(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "pages", nobody, can_show=False)
    old, young = pages.write("old.md", ""), pages.write("young.md", "")
    week = time.time() - 7 * 24 * 3600
    os.utime(old, (week - 60, week - 60))
    os.utime(young, (week + 60, week + 60))
    pages.write("new.md", "")
    assert (old.exists(), young.exists()) == (False, True)
