"""``marvin login``, with a vendor on loopback that knows one key."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.e2e.command import Marvin
from tests.patience import SECONDS

KEY = "sk-the-right-one"


class _Answers(BaseHTTPRequestHandler):
    """Lists two models for whoever shows ``KEY``; at ``/open/`` for anyone."""

    def do_GET(self) -> None:
        allowed = self.path.startswith("/open/") or self.headers["authorization"] == f"Bearer {KEY}"
        answer = {"data": [{"id": "m1"}, {"id": "gpt-5.1"}]} if allowed else {"error": {"message": "wrong key"}}
        body = json.dumps(answer).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    """The vendor's address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def files_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyring of whoever runs the tests is left alone."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture
def stored(home: Path) -> Path:
    return home / "marvin" / "config" / "keys" / "openai"


def test_a_key_that_the_vendor_takes_is_stored_and_used(marvin: Marvin, origin: str, stored: Path) -> None:
    url = {"OPENAI_BASE_URL": f"{origin}/v1"}
    done = marvin("login", "openai", stdin=f"{KEY}\n", env=url)
    assert (done.exit_code, done.stdout) == (0, f"OpenAI: the key works, for 2 models; it is stored in {stored}\n")
    assert (stored.read_text(), oct(stored.stat().st_mode & 0o777)) == (KEY, "0o600")
    doctor = marvin("doctor", env=url).stdout
    assert "in use: openai" in doctor
    assert f"key from {stored}" in doctor
    assert marvin("login", "openai", "--remove").stdout == "OpenAI: the key is removed\n"
    assert not stored.exists()
    assert marvin("login", "openai", "--remove").stdout == "OpenAI: no key was stored\n"


def test_a_refused_key_is_not_stored_and_never_shown(marvin: Marvin, origin: str, stored: Path) -> None:
    done = marvin("login", "openai", stdin="sk-wrong\n", env={"OPENAI_BASE_URL": f"{origin}/v1"})
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("marvin: the key is not stored: OpenAI (127.0.0.1:")
    assert "sk-wrong" not in done.stderr
    assert not stored.exists()


def test_when_the_vendor_cannot_be_reached_only_no_test_stores_the_key(marvin: Marvin, stored: Path) -> None:
    nobody = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    done = marvin("login", "openai", stdin=KEY, env=nobody)
    assert (done.exit_code, "--no-test" in done.stderr, stored.exists()) == (1, True, False)
    done = marvin("login", "openai", "--no-test", "--json", stdin=KEY, env=nobody)
    text = f"OpenAI: the key was not tried; it is stored in {stored}"
    assert json.loads(done.stdout) == {"vendor": "openai", "stored": str(stored), "text": text}
    assert stored.read_text() == KEY


def test_a_list_that_is_open_to_anyone_proves_nothing(marvin: Marvin, origin: str, stored: Path) -> None:
    done = marvin("login", "openai", stdin="sk-any", env={"OPENAI_BASE_URL": f"{origin}/open"})
    assert "the key could not be tried, since anyone may list the models there" in done.stdout
    assert stored.read_text() == "sk-any"


def test_a_key_that_comes_first_is_named(marvin: Marvin, origin: str) -> None:
    environ = {"OPENAI_BASE_URL": f"{origin}/v1", "OPENAI_API_KEY": "sk-other"}
    assert "the key in OPENAI_API_KEY comes before it" in marvin("login", "openai", stdin=KEY, env=environ).stderr
    assert "there is still a key in OPENAI_API_KEY" in marvin("login", "openai", "--remove", env=environ).stderr


@pytest.mark.parametrize("text", ["", "\n", "two words\n", "schlüssel\n", "\x00\n"])
def test_what_is_no_key_is_refused_unseen(marvin: Marvin, stored: Path, text: str) -> None:
    done = marvin("login", "openai", stdin=text)
    assert (done.exit_code, stored.exists()) == (2, False)
    assert not text.strip() or text.strip() not in done.stderr


@pytest.mark.parametrize("vendor", ["ollama", "lm-studio", "offline", "local", "copilot"])
def test_who_needs_no_key_says_so(marvin: Marvin, home: Path, vendor: str) -> None:
    done = marvin("login", vendor)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "needs no key" in done.stdout or "copilot login" in done.stdout
    assert not (home / "marvin" / "config").exists()


def test_an_unknown_vendor_gets_the_nearest_names(marvin: Marvin) -> None:
    done = marvin("login", "opnai")
    assert (done.exit_code, "did you mean openai" in done.stderr) == (2, True)


def test_a_key_that_is_typed_is_not_shown(tmp_path: Path, origin: str, stored: Path) -> None:
    terminal, slave = pty.openpty()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("marvin"), "login", "openai"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=tmp_path,
        env={**os.environ, "OPENAI_BASE_URL": f"{origin}/v1"},
        start_new_session=True,
    )
    os.close(slave)
    with os.fdopen(terminal, "r+b", buffering=0) as screen:
        shown = b""
        while b"(not shown): " not in shown:
            shown += screen.read(1000)
        screen.write(f"{KEY}\n".encode())
        while b"it is stored in" not in shown:
            shown += screen.read(1000)
        assert process.wait(SECONDS) == 0
    assert KEY.encode() not in shown
    assert stored.read_text() == KEY
