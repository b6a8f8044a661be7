"""Parts of the extension that need no editor, in Node."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.vscode import code_server

HERE = Path(__file__).parent


@pytest.mark.parametrize("part", sorted(path.name for path in HERE.glob("*.test.ts")))
def test_the_part_does_what_its_tests_say(part: str, tmp_path: Path) -> None:
    code_server.require()
    bundle = tmp_path / f"{part}.mjs"
    options = ("--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={bundle}")
    esbuild = code_server.EXTENSION / "node_modules" / ".bin" / "esbuild"
    modules = {"NODE_PATH": str(code_server.EXTENSION / "node_modules")}
    subprocess.run((esbuild, *options, HERE / part), env={**os.environ, **modules}, check=True, timeout=60)
    done = subprocess.run(
        ("node", "--test", "--test-reporter=spec", bundle),
        env={**os.environ, "TMPDIR": str(tmp_path), "SOURCE": str(code_server.EXTENSION / "src")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
