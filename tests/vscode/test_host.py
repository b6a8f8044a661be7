"""The suites of ``host/``, each in a window of its own."""

import json
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext

from tests.conftest import shop
from tests.vscode import extension_host
from tests.vscode.code_server import CodeServer
from tests.vscode.window import opened

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(360)]
SUITES = sorted(path.name for path in extension_host.SUITES.glob("*.test.ts"))


@pytest.mark.parametrize("suite", SUITES)
async def test_the_suite_passes_in_the_extension_host(
    suite: str, vscode: CodeServer, browser: BrowserContext, tmp_path: Path
) -> None:
    repository = shop(tmp_path / "repository")
    place = _two_folders(repository) if suite == "folders.test.ts" else repository
    async with opened(browser, vscode.origin, tmp_path) as window:
        report = await extension_host.run(suite, window, vscode, place, tmp_path)
    assert report == dict.fromkeys(report, "ok")


def _two_folders(repository: Path) -> Path:
    other = repository.with_name("suppliers")
    other.mkdir()
    (other / "towels.txt").write_text("Hitchhiker & Co.\n")
    workspace = repository.with_name("trade.code-workspace")
    workspace.write_text(json.dumps({"folders": [{"path": str(repository)}, {"path": str(other)}]}))
    return workspace
