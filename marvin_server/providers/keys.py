"""Where a vendor's key is found, and where ``marvin login`` keeps it."""

import importlib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marvin_server.errors import MarvinError
from marvin_server.providers.vendor_files import Vendor
from marvin_server.settings import Settings

KEYRING = "the keyring"
_SERVICE = "marvin-assistant"


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or None; ``origin`` says where it comes from, or why there is none."""

    value: str | None = field(repr=False)
    origin: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a key was put; ``note`` says why not in the keyring, where there is one that refused it."""

    place: str
    note: str | None = None


def key(vendor: Vendor, settings: Settings) -> Key:
    """The key from the vendor's variable, else what ``store`` kept, else the vendor's file, else the keyring.

    A file counts only if nobody but its owner may read it. The keyring is asked only for what
    ``store`` put there.
    """
    variable, stored = vendor.key_variable, _file(vendor.name, settings)
    if variable and (value := settings.environ.get(variable, "").strip()):
        return _checked(value, variable)
    in_keyring = _is_empty(stored)
    if in_keyring is False:
        return _read(stored, str(stored))
    found = Key(None, f"{variable} is not set" if variable else "no key is needed")
    if vendor.key_file:
        found = _read(expanded(vendor.key_file, settings), vendor.key_file)
    return _from_keyring(vendor.name) if in_keyring and found.value is None else found


def is_key(text: str) -> bool:
    """Whether ``text`` could be a key: printable ASCII without blanks."""
    return re.fullmatch(r"[!-~]+", text) is not None


def store(vendor: str, value: str, settings: Settings) -> Stored:
    """Keep a key for the vendor of this name in the system's keyring, else in a private file; it replaces an older one.

    The file is ``keys/VENDOR`` in the config folder; an empty one says that the key is in the keyring.
    Raises ``MarvinError`` when it cannot be written.
    """
    file, refusal = _file(vendor, settings), None
    if _has_keyring():
        refusal = _put_into_keyring(vendor, value)
        if refusal is None:
            _write(file, "")
            return Stored(KEYRING)
    _write(file, value)
    return Stored(str(file), refusal)


def remove(vendor: str, settings: Settings) -> bool:
    """Forget what ``store`` kept for this vendor; false when there is nothing. Raises ``MarvinError``."""
    file = _file(vendor, settings)
    in_keyring = _is_empty(file)
    if in_keyring is None:
        return False

    def delete(keyring: Any) -> None:
        if keyring.get_password(_SERVICE, vendor) is not None:
            keyring.delete_password(_SERVICE, vendor)

    if in_keyring:
        _with_keyring(delete)
    try:
        file.unlink()
    except OSError as error:
        raise MarvinError(f"{file} cannot be removed ({error.strerror})") from None
    return True


def _file(vendor: str, settings: Settings) -> Path:
    return settings.paths.keys / vendor


def _is_empty(file: Path) -> bool | None:
    """None when there is no such file."""
    try:
        return file.stat().st_size == 0
    except OSError:
        return None


def expanded(name: str, settings: Settings) -> Path:
    """The path of a file that a person named, which may begin with ``~/``."""
    home = settings.environ.get("HOME") or str(Path.home())
    return Path(name.replace("~", home, 1)) if name.startswith("~/") else Path(name)


def _read(path: Path, name: str) -> Key:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.getuid():
                return Key(None, f"{name} is ignored, since others can get at it (chmod 600 {name})")
            return _checked(file.read(10_000).decode("utf-8", "replace").strip(), name)
    except OSError as error:
        return Key(None, f"{name} cannot be read ({error.strerror})")


def _checked(value: str, origin: str) -> Key:
    return Key(value, origin) if is_key(value) else Key(None, f"{origin} holds no key, but other text")


def _write(file: Path, text: str) -> None:
    """Replace a private file whole, or leave it as it was."""
    import tempfile

    draft = None
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.parent.chmod(0o700)
        descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".")
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(descriptor)
        Path(draft).replace(file)
    except OSError as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise MarvinError(f"the key cannot be stored in {file} ({error.strerror})") from None


def _has_keyring() -> bool:
    from importlib.util import find_spec

    return find_spec("keyring") is not None


def _from_keyring(vendor: str) -> Key:
    try:
        value = _with_keyring(lambda keyring: keyring.get_password(_SERVICE, vendor))
    except MarvinError as error:
        return Key(None, str(error))
    if value is None:
        return Key(None, f"{KEYRING} no longer holds the key; run: marvin login {vendor}")
    return _checked(str(value), KEYRING)


def _put_into_keyring(vendor: str, value: str) -> str | None:
    """Why it cannot be kept there, or None when it is."""

    def put(keyring: Any) -> bool:
        keyring.set_password(_SERVICE, vendor, value)
        # A backend that is switched off takes everything and keeps nothing.
        return bool(keyring.get_password(_SERVICE, vendor) == value)

    try:
        return None if _with_keyring(put) else f"{KEYRING} keeps nothing"
    except MarvinError as error:
        return str(error)


def _with_keyring(use: Callable[[Any], Any]) -> Any:
    """What ``use`` makes of the package ``keyring``. Raises ``MarvinError`` when that is missing, locked or broken."""
    if not _has_keyring():
        raise MarvinError("the key is in the keyring, but its package is gone: pip install 'marvin-assistant[keyring]'")
    try:
        return use(importlib.import_module("keyring"))
    except Exception as error:  # a backend is somebody else's plug-in, and each has errors of its own
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise MarvinError(f"{KEYRING} cannot be used ({reason})") from error
