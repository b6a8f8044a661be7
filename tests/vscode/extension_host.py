"""Runs TypeScript inside the real extension host, where all of VS Code's API is at hand."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

from playwright.async_api import ConsoleMessage
from playwright.async_api import TimeoutError as TimedOut

from tests.vscode.code_server import EXTENSION, CodeServer
from tests.vscode.window import Window

SUITES = Path(__file__).parent / "host"
_ALL_MS = 300_000
_END, _FORSAKEN = "The suite has ended.", "This window will not do."
"""What ``host/harness.ts`` says when it has, and when the suite wants another window."""


async def run(suite: str, window: Window, server: CodeServer, place: Path, scratch: Path) -> dict[str, str]:
    """Run a file of ``host/`` in a window on a folder, or on a ``.code-workspace``; gives its report.

    The extension is the one that is installed in ``server``. The bundle and its report are left in ``scratch``.
    """
    bundle = scratch / suite.replace(".ts", ".js")
    _bundle(suite, bundle)
    (installed,) = server.extensions.glob("marvin-assistant.marvin-*")
    with suppress(TimedOut):  # the report says what did not end
        said = _FORSAKEN
        while said.endswith(_FORSAKEN):
            async with window.page.expect_console_message(_is_last, timeout=_ALL_MS) as last:
                await window.open(place, extensionDevelopmentPath=str(installed), extensionTestsPath=str(bundle))
            said = (await last.value).text
    return json.loads(Path(f"{bundle}.report").read_text())


def _is_last(said: ConsoleMessage) -> bool:
    return said.text.endswith((_END, _FORSAKEN))


def _bundle(suite: str, bundle: Path) -> None:
    options = ("--bundle", "--platform=node", "--external:vscode", "--sourcemap=inline", "--log-level=warning")
    program = EXTENSION / "node_modules" / ".bin" / "esbuild"
    subprocess.run((program, *options, f"--outfile={bundle}", SUITES / suite), check=True)
