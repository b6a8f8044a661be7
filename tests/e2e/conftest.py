"""Running the command against the model server."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Marvin


@pytest.fixture
def ask(marvin: Marvin, model_environ: dict[str, str]) -> Any:
    """Run ``marvin --non-interactive`` against the model server."""

    def run(*args: str | Path, prompt: str = "Say hello", **options: Any) -> Any:
        options.setdefault("env", {}).update(model_environ)
        return marvin("--non-interactive", "--prompt", prompt, *args, **options)

    return run
