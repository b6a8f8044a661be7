"""One code-server, browser, model and window for all tests of a process that are about no other."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, FrameLocator, expect

from tests.conftest import shop
from tests.servers.model_server import ThreadedModelServer
from tests.vscode import code_server
from tests.vscode.chat import begin_anew
from tests.vscode.code_server import CodeServer
from tests.vscode.model import answer
from tests.vscode.settings import SETTINGS, environ
from tests.vscode.window import Window, chromium, opened


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed extension, which all of pytest's processes share."""
    code_server.require()
    place = tmp_path_factory.getbasetemp()
    return code_server.pack(place.parent if "PYTEST_XDIST_WORKER" in os.environ else place)


@pytest.fixture(scope="session")
def scripted() -> Iterator[ThreadedModelServer]:
    """The model that answers in all windows; see ``model.py`` for what it says."""
    with ThreadedModelServer(answer) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def vscode(
    vsix: Path, scripted: ThreadedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[CodeServer]:
    async with CodeServer(tmp_path_factory.mktemp("vscode"), vsix, SETTINGS, environ(scripted)) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(vsix: Path) -> AsyncIterator[BrowserContext]:
    async with chromium() as context:
        yield context


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop that the one window shows."""
    return shop(tmp_path_factory.mktemp("shop") / "repository")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def window(
    vscode: CodeServer, browser: BrowserContext, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Window]:
    """The window of the tests that need no other."""
    async with opened(browser, vscode.origin, tmp_path_factory.mktemp("window")) as shown:
        await shown.open(repository)
        yield shown


@pytest_asyncio.fixture(loop_scope="session")
async def chat(
    window: Window, repository: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[FrameLocator]:
    """The view of that window with a new session. What a test that has failed left on the screen is gone."""
    failed = request.session.testsfailed
    if failed:
        await window.open(repository)
    chat = await window.show_chat()
    await expect(chat.get_by_label("Usage")).to_contain_text("Context")  # it has come up, with the session it had
    await begin_anew(chat)
    yield chat
    if request.session.testsfailed > failed:
        await window.leave(tmp_path)
