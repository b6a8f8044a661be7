"""One code-server, one browser and one model for all tests of a process; each test has a window and a folder."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext

from tests.servers.model_server import ThreadedModelServer
from tests.vscode import code_server
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


@pytest_asyncio.fixture(loop_scope="session")
async def window(vscode: CodeServer, browser: BrowserContext, tmp_path: Path) -> AsyncIterator[Window]:
    """A window that shows nothing yet."""
    async with opened(browser, vscode.origin, tmp_path) as shown:
        yield shown
