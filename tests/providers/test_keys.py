"""Where a key is found and kept. The keyring is the real package, with a backend that keeps its entries in a file."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from marvin_server import settings as settings_module
from marvin_server.errors import MarvinError
from marvin_server.providers import keys, vendors
from marvin_server.providers.keys import Key
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings
from tests.patience import SECONDS

needs_keyring = pytest.mark.skipif(
    not find_spec("keyring") and not os.environ.get("CI"), reason="the package keyring is not installed"
)
UNUSABLE = "keyring.backends.fail.Keyring"
BACKEND = """
import json, os, pathlib
from keyring.backend import KeyringBackend

class Keyring(KeyringBackend):
    priority = 1
    file = pathlib.Path(os.environ["HOME"], "keyring.json")

    def _entries(self):
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def get_password(self, service, username):
        return self._entries().get(f"{service} {username}")

    def set_password(self, service, username, password):
        self.file.write_text(json.dumps({**self._entries(), f"{service} {username}": password}))

    def delete_password(self, service, username):
        entries = self._entries()
        del entries[f"{service} {username}"]
        self.file.write_text(json.dumps(entries))
"""
PROBE = """
import sys
from marvin_server import settings
from marvin_server.providers import keys, vendors
loaded = settings.load({})
action, *words = sys.argv[1:]
if action == "store":
    print(keys.store("groq", words[0], loaded))
elif action == "remove":
    print(keys.remove("groq", loaded))
else:
    found = keys.key(vendors.load("groq", loaded), loaded)
    print(found.value, found.origin, "keyring" in sys.modules, sep="|")
"""


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keyring of whoever runs the tests is left alone."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", UNUSABLE)


def settings(home: Path, **environ: str) -> Settings:
    return settings_module.load({}, {"HOME": str(home), "MARVIN_HOME": str(home / "marvin"), **environ})


def groq(home: Path) -> Vendor:
    return vendors.load("groq", settings(home))


def stored_file(home: Path) -> Path:
    return home / "marvin" / "config" / "keys" / "groq"


def add_key_file(home: Path) -> None:
    file = home / ".ssh" / "GROQ_API_KEY"
    file.parent.mkdir(exist_ok=True)
    file.write_text("of-key-file\n")
    file.chmod(0o600)


def probe(home: Path, *words: str, backend: str = "file_keyring.Keyring", **environ: str) -> str:
    """What a process of its own says that uses this backend of the package ``keyring``."""
    (home / "file_keyring.py").write_text(BACKEND)
    places = {"PYTHONPATH": os.pathsep.join(filter(None, (str(home), os.environ.get("PYTHONPATH"))))}
    return subprocess.run(
        [sys.executable, "-c", PROBE, *words],
        env={**os.environ, **places, "PYTHON_KEYRING_BACKEND": backend, **environ},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout.strip()


def test_a_key_comes_from_the_strongest_source_that_has_one(tmp_path: Path) -> None:
    add_key_file(tmp_path)
    vendor = groq(tmp_path)
    assert keys.key(vendor, settings(tmp_path)) == Key("of-key-file", "~/.ssh/GROQ_API_KEY")
    file = stored_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text("of-login")
    file.chmod(0o600)
    assert keys.key(vendor, settings(tmp_path)) == Key("of-login", str(file))
    assert keys.key(vendor, settings(tmp_path, GROQ_API_KEY="of-variable")) == Key("of-variable", "GROQ_API_KEY")


def test_without_a_usable_keyring_a_key_is_stored_in_a_file_that_only_its_owner_can_read(home: Path) -> None:
    file = stored_file(home)
    for key in ("first", "second"):
        assert probe(home, "store", key, backend=UNUSABLE).startswith(f"Stored(place='{file}', note=")
        assert probe(home, "key") == f"{key}|{file}|False"
    assert [oct(path.stat().st_mode & 0o777) for path in (file.parent, file)] == ["0o700", "0o600"]
    assert list(file.parent.iterdir()) == [file]
    assert (probe(home, "remove"), probe(home, "remove")) == ("True", "False")
    assert list(file.parent.iterdir()) == []


def test_a_stored_key_that_others_can_read_is_ignored(tmp_path: Path) -> None:
    file = stored_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text("of-login")
    file.chmod(0o644)
    reason = f"{file} is ignored, since others can get at it (chmod 600 {file})"
    assert keys.key(groq(tmp_path), settings(tmp_path)) == Key(None, reason)


def test_a_key_that_cannot_be_written_is_an_error_without_the_key(tmp_path: Path) -> None:
    (tmp_path / "marvin").write_text("in the way")
    with pytest.raises(MarvinError) as caught:
        keys.store("groq", "gsk-secret", settings(tmp_path))
    assert str(caught.value).startswith(f"the key cannot be stored in {stored_file(tmp_path)} (")
    assert "gsk-secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "two words", "sk-1\r\nevil: header", "schlüssel", "tab\t"])
def test_what_has_blanks_or_other_letters_is_no_key(text: str) -> None:
    assert not keys.is_key(text)


def test_a_key_in_a_keyring_that_is_gone_is_a_reason_not_a_crash(tmp_path: Path) -> None:
    file = stored_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.touch(0o600)
    found = keys.key(groq(tmp_path), settings(tmp_path))
    assert found.value is None
    assert "keyring" in found.origin


@needs_keyring
def test_a_key_is_kept_in_the_keyring_where_there_is_one(home: Path) -> None:
    assert probe(home, "store", "gsk-1") == "Stored(place='the keyring', note=None)"
    assert json.loads((home / "keyring.json").read_text()) == {"marvin-assistant groq": "gsk-1"}
    assert stored_file(home).read_text() == ""
    assert probe(home, "key") == "gsk-1|the keyring|True"
    assert probe(home, "remove") == "True"
    assert json.loads((home / "keyring.json").read_text()) == {}
    assert probe(home, "key").startswith("None|~/.ssh/GROQ_API_KEY cannot be read")


@needs_keyring
def test_the_keyring_is_not_loaded_while_another_source_has_the_key_or_nothing_was_stored(home: Path) -> None:
    assert probe(home, "key").endswith("|False")
    probe(home, "store", "gsk-1")
    assert probe(home, "key", GROQ_API_KEY="of-variable") == "of-variable|GROQ_API_KEY|False"
    add_key_file(home)
    assert probe(home, "key") == "of-key-file|~/.ssh/GROQ_API_KEY|False"


@needs_keyring
@pytest.mark.parametrize("backend", [UNUSABLE, "keyring.backends.null.Keyring"])
def test_a_keyring_that_keeps_nothing_is_replaced_by_a_file(home: Path, backend: str) -> None:
    said = probe(home, "store", "gsk-1", backend=backend)
    assert said.startswith(f"Stored(place='{stored_file(home)}', note=")
    assert "the keyring" in said
    assert probe(home, "key", backend=backend) == f"gsk-1|{stored_file(home)}|False"


@needs_keyring
def test_a_locked_keyring_is_a_reason_not_a_crash(home: Path) -> None:
    probe(home, "store", "gsk-1")
    said = probe(home, "key", backend=UNUSABLE)
    assert said.startswith("None|the keyring cannot be used (")
