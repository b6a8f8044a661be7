"""What holds for every test: a home of its own, no keys, loopback only; and the fixtures that suites share."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest

from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer

_FOREIGN_PREFIXES = (
    *("MARVIN_", "LLM_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "GROQ_", "OLLAMA_", "OPENROUTER_"),
    *("COPILOT_", "GITHUB_", "GH_", "GIT_", "XDG_"),
)
_FOREIGN_SUFFIXES = ("_API_KEY", "_PROXY")
_FOREIGN_NAMES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES")


def pytest_configure() -> None:
    sys.addaudithook(_refuse_foreign_connections)
    hypothesis.settings.register_profile("marvin", deadline=None, max_examples=60)
    hypothesis.settings.register_profile("ci", deadline=None, max_examples=200, derandomize=True)
    hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "marvin")


def _refuse_foreign_connections(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = str(cast("tuple[object, ...]", args[1])[0])
        if not _is_loopback(host):
            raise RuntimeError(f"a test may only connect to loopback, not to {host}")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in ("", "localhost")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the home of every test; apart from ``tmp_path``, which a test has for itself."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home for the test and its children, and an environment without keys, proxies and preferences.

    It is gone after the test: some programs put hundreds of megabytes into each new home.
    """
    for name in os.environ:
        upper = name.upper()
        if upper.startswith(_FOREIGN_PREFIXES) or upper.endswith(_FOREIGN_SUFFIXES) or upper in _FOREIGN_NAMES:
            monkeypatch.delenv(name)
    folder = Path(tempfile.mkdtemp(dir=homes))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("MARVIN_HOME", str(folder / "marvin"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # Nobody listens there: an Ollama of the person's own must not answer a test.
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for kind, place in {
        "CONFIG": ".config",
        "DATA": ".local/share",
        "STATE": ".local/state",
        "CACHE": ".cache",
    }.items():
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(folder / place))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def noon() -> Iterator[None]:
    """A time zone in which it is about noon, for the test and its children: their day does not end meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", f"NOON{datetime.now(UTC).hour - 12:+d}")  # POSIX: the hours to UTC, west is positive
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def model_server() -> Iterator[ThreadedModelServer]:
    """A loopback model server that says ``GREETING`` until the test makes it play something else."""
    with ThreadedModelServer() as server:
        yield server


@pytest.fixture
def model_environ(model_server: ThreadedModelServer) -> dict[str, str]:
    """The variables that make ``marvin`` talk to ``model_server``, with a model whose price nobody knows."""
    return {
        "LLM_PROVIDER": "openai-compat",
        "OPENAI_COMPAT_URL": model_server.url,
        "OPENAI_COMPAT_API_KEY": "sk-test",
        "OPENAI_COMPAT_MODEL": "test-model",
    }


@pytest.fixture
def marvin(tmp_path: Path) -> Iterator[Marvin]:
    """The installed command; it runs in ``tmp_path`` unless told otherwise."""
    command = Marvin(tmp_path)
    yield command
    command.close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A shop in a folder of its own."""
    return shop(tmp_path / "repository")


def shop(root: Path) -> Path:
    """``root`` as a small git repository, all committed, whose test fails until ``total`` in ``shop/basket.py`` adds.

    ``python -m unittest`` in it runs the test.
    """
    files = {
        ".gitignore": "__pycache__/\n",
        "README.md": "# shop\n\nAdds up what is in a basket.\n",
        "shop/__init__.py": '"""A very small shop."""\n',
        "shop/basket.py": (
            '"""What a customer wants to buy."""\n\n\n'
            "def total(prices: list[int]) -> int:\n"
            '    """The sum of all prices, in cents."""\n'
            "    result = 0\n"
            "    for price in prices:\n"
            "        result -= price\n"
            "    return result\n"
        ),
        "tests/__init__.py": "",
        "tests/test_basket.py": (
            "import unittest\n\nfrom shop.basket import total\n\n\n"
            "class TotalTest(unittest.TestCase):\n"
            "    def test_total_adds_all_prices(self) -> None:\n"
            "        self.assertEqual(total([250, 150]), 400)\n"
        ),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Arthur Dent"),
        ("config", "user.email", "arthur@example.org"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "A shop"),
    ):
        subprocess.run(("git", *command), cwd=root, check=True)
    return root
