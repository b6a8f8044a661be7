"""The .vsix alone on a fresh profile: no settings of Marvin's, no key, and nobody trusts the folder yet."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.conftest import shop
from tests.vscode.chat import decide, say
from tests.vscode.code_server import MARVIN, CodeServer
from tests.vscode.window import Window, opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]
_COLOURS = {"window.autoDetectColorScheme": True}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A shop that nobody has opened yet."""
    return shop(tmp_path / "repository")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def unconfigured(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodeServer]:
    """Marvin is where pipx and uv put it."""
    server = CodeServer(tmp_path_factory.mktemp("vscode"), vsix, _COLOURS, {"PATH": os.environ["PATH"]})
    programs = server.home / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "marvin").symlink_to(MARVIN)
    async with server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def fresh(unconfigured: CodeServer, browser: BrowserContext, tmp_path: Path) -> AsyncIterator[Window]:
    async with opened(browser, unconfigured.origin, tmp_path) as shown:
        yield shown


async def test_without_any_configuration_there_is_an_answer_a_question_and_a_review(
    fresh: Window, repository: Path
) -> None:
    await fresh.open(repository)
    await fresh.page.get_by_role("button", name="Yes, I trust the authors").click()
    await fresh.open_file("basket.py")
    chat = await fresh.show_chat()

    await say(chat, "Where are prices added?")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("basket.py")
    await fresh.picture("first-answer")

    await say(chat, "run git log --oneline")
    question = chat.get_by_role("region", name="Question")
    await expect(question).to_contain_text("git log --oneline")
    await fresh.picture("first-question")
    await decide(chat, "Allow once")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("A shop")

    await say(chat, 'replace "result -= price" with "result += price" in shop/basket.py')
    await expect(fresh.page.locator(".codelens-decoration a", has_text="Keep").first).to_be_visible()
    await fresh.picture("first-review")
    await fresh.press("Keep")
    await expect(fresh.page.locator(".codelens-decoration a", has_text="Keep")).to_have_count(0)
    await expect(fresh.editor).to_contain_text("result += price".replace(" ", "\u00a0"))


async def test_marvin_does_not_start_in_a_folder_that_is_not_trusted(fresh: Window, repository: Path) -> None:
    await fresh.open(repository)
    await fresh.page.get_by_role("button", name="No, I don't trust the authors").click()
    chat = await fresh.show_chat()
    await expect(chat.locator("body")).to_contain_text("Trust the workspace")
    await fresh.picture("untrusted")
    await fresh.command("Workspaces: Manage Workspace Trust")
    await fresh.page.get_by_role("button", name="Trust", exact=True).click()
    await say(chat, "Where are prices added?")
    await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("basket.py")


_HANGS = """#!/bin/sh
[ "$2" = --help ] && echo "usage: marvin lsp" && exit
exec sleep 600
"""


async def test_a_server_that_hangs_can_be_started_anew_at_once(
    vsix: Path, browser: BrowserContext, repository: Path, tmp_path: Path
) -> None:
    server = CodeServer(
        tmp_path / "vscode", vsix, {"security.workspace.trust.enabled": False}, {"PATH": "/usr/bin:/bin"}
    )
    program = server.home / ".local" / "bin" / "marvin"
    program.parent.mkdir(parents=True)
    program.write_text(_HANGS)
    program.chmod(0o755)
    async with server, opened(browser, server.origin, tmp_path) as window:
        await window.open(repository)
        chat = await window.show_chat()
        restart = chat.get_by_role("button", name="Restart")
        await restart.wait_for()
        program.write_text(f'#!/bin/sh\nexec {MARVIN} "$@"\n')
        await restart.click()
        await expect(restart).to_have_count(0, timeout=50_000)  # a start may take a minute before it is given up
        await say(chat, "Where are prices added?")
        await expect(chat.get_by_role("article", name="Marvin").last).to_contain_text("basket.py")
