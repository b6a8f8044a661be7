"""Runs a script of this folder in a process of its own, which ends with its time-out, whatever it is doing."""

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


async def run_script(name: str, given: bytes, environ: Mapping[str, str], *, seconds: float) -> bytes:
    """What the script ``name`` writes when it is given ``given``. It is gone on return, cancellation included.

    Raises ``TimeoutError``, and ``ChildProcessError`` when it fails.
    """
    script = Path(__file__).with_name(name)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", script), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environ, cwd=script.parent
    )
    try:
        async with asyncio.timeout(seconds):
            written, errors = await child.communicate(given)
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    if child.returncode:
        logging.getLogger("marvin.tools").warning("%s: %s", name, errors.decode("utf-8", "replace")[-2000:])
        raise ChildProcessError(f"{name} ended with {child.returncode}")
    return written
