"""The transcript of the chat view, by itself, in Node."""

import os
import subprocess
from pathlib import Path

from tests.vscode.code_server import EXTENSION
from tests.vscode.view.page import HERE, TRANSCRIPTS


def test_a_transcript_is_what_the_server_told(tmp_path: Path) -> None:
    bundle = tmp_path / "transcript.test.mjs"
    options = ("--bundle", "--platform=node", "--format=esm", "--log-level=warning", f"--outfile={bundle}")
    subprocess.run((EXTENSION / "node_modules/.bin/esbuild", *options, HERE / "transcript.test.ts"), check=True)
    done = subprocess.run(
        ("node", "--test", "--test-reporter=spec", bundle),
        env={**os.environ, "TRANSCRIPTS": str(TRANSCRIPTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
