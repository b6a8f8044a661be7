"""Parts of the extension and of its chat view that need no editor, in Node."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.vscode import code_server
from tests.vscode.code_server import EXTENSION, ROOT

HERE = Path(__file__).parent
PARTS = sorted(str(path.relative_to(HERE)) for kind in ("parts", "view") for path in HERE.glob(f"{kind}/*.test.ts"))


@pytest.mark.parametrize("part", PARTS)
def test_the_part_does_what_its_tests_say(part: str, tmp_path: Path) -> None:
    code_server.require()
    bundle = tmp_path / "bundle.mjs"
    options = ("--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={bundle}")
    modules = EXTENSION / "node_modules"
    subprocess.run(
        (modules / ".bin" / "esbuild", *options, HERE / part),
        env={**os.environ, "NODE_PATH": str(modules)},
        check=True,
        timeout=60,
    )
    places = {"TMPDIR": tmp_path, "SOURCE": EXTENSION / "src", "TRANSCRIPTS": ROOT / "tests" / "transcripts"}
    done = subprocess.run(
        ("node", "--test", "--test-reporter=spec", bundle),
        env={**os.environ, **{name: str(path) for name, path in places.items()}},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
