"""One person's files, and which persons there are."""

from typing import Any

from msgspec import Struct, field

from marvin_server import setting_checks
from marvin_server.errors import UsageError
from marvin_server.paths import Paths
from marvin_server.profiles import files
from marvin_server.profiles.files import JsonFile
from marvin_server.profiles.history import InputHistory

DEFAULT = "default"


class Place(Struct, frozen=True):
    """A place that the person has saved; ``lat`` and ``lng`` are degrees."""

    label: str
    name: str
    address: str
    lat: float
    lng: float
    notes: str | None = None


class Subscription(Struct, frozen=True):
    """A topic of the ntfy server that the person follows, and the id of the message that was shown last."""

    topic: str
    last_message_id: str | None = field(name="lastMessageId", default=None)


class Profile:
    """The files of the profile ``name``. Their places and formats are those that people edit by hand."""

    def __init__(self, paths: Paths, name: str) -> None:
        self.name = name
        self.folder = paths.profiles / name
        self.preferences_file = self.folder / "preferences.yaml"
        self.places = JsonFile[tuple[Place, ...]](self.folder / "saved_places.json", tuple[Place, ...], ())
        self.subscriptions = JsonFile[tuple[Subscription, ...]](
            self.folder / "ntfy_subscriptions.json", tuple[Subscription, ...], ()
        )
        self.tokens = JsonFile[dict[str, Any]](self.folder / "tokens.json", dict[str, Any], {}, private=True)
        self.history = InputHistory(paths.history(name))


def names(paths: Paths) -> list[str]:
    """The profiles that there are, in the order of the alphabet; the default one is always there."""
    found = {DEFAULT}
    for folder in (paths.profiles, paths.data / "profiles"):
        if folder.is_dir():
            found.update(each.name for each in folder.iterdir() if each.is_dir() and is_name(each.name))
    return sorted(found)


def is_name(text: str) -> bool:
    """Whether a profile can be called so."""
    try:
        return setting_checks.name(text) == text
    except ValueError:
        return False


def create(paths: Paths, name: str) -> Profile:
    """The profile of this name, begun where there is none. Raises ``UsageError`` for what is no name."""
    if not is_name(name):
        raise UsageError(
            f"a profile needs a name of letters, digits, '.', '_' or '-', not {setting_checks.shown(name)}"
        )
    profile = Profile(paths, name)
    profile.folder.mkdir(0o700, parents=True, exist_ok=True)
    return profile


def last(paths: Paths) -> str | None:
    """The profile that a terminal used last, where it is still there."""
    try:
        name = paths.last_profile.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if is_name(name) and (paths.profiles / name).is_dir() else None


def remember(paths: Paths, name: str) -> None:
    """Let terminals begin with this profile from now on. Raises ``OSError``."""
    files.write(paths.last_profile, f"{name}\n".encode())
