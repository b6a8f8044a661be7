"""Takes over the profiles of an earlier assistant, once: those in ``~/.config/local-finder``, which stays as it is."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from marvin_server.paths import Paths
from marvin_server.profiles import files
from marvin_server.profiles.history import readline_entries
from marvin_server.profiles.profile import Profile, is_name, remember

_RENAMED = {"prefs.yaml": "preferences.yaml"}
_CHAT_LOG = "chat_log.json"


class TakenOver(Struct, frozen=True):
    """A profile that is now one of Marvin's; ``chat_log`` is the copy of its conversation, for the session store."""

    profile: str
    chat_log: Path | None


def due(paths: Paths, environ: Mapping[str, str]) -> Path | None:
    """The folder that is to be taken over, None where there is none or that is done."""
    home = environ.get("HOME")
    folder = Path(home) / ".config" / "local-finder" if home else None
    is_there = folder is not None and (folder / "profiles").is_dir() and not _done(paths).exists()
    return folder if is_there else None


def take_over(paths: Paths, folder: Path) -> list[TakenOver]:
    """Copy every file of every profile beneath ``folder``; ``finish`` is called once the chat logs are stored, too.

    What is there already is not replaced: the other file is put beside it. Taking over twice changes nothing. Raises
    ``OSError``.
    """
    with files.alone(_done(paths)):
        if _done(paths).exists():
            return []
        taken = [_profile(paths, each) for each in sorted((folder / "profiles").iterdir()) if each.is_dir()]
        if (usage := folder / "usage.json").is_file():
            _copy(usage, paths.profiles / "local-finder-usage.json")
        last = folder / "last_profile"
        if last.is_file() and not paths.last_profile.exists():
            name = _name(last.read_text("utf-8", "replace").strip())
            if name in {each.profile for each in taken}:
                remember(paths, name)
        return taken


def finish(paths: Paths) -> None:
    """Never take over again. Raises ``OSError``."""
    files.write(_done(paths), b"The profiles of ~/.config/local-finder were taken over.\n")


def _done(paths: Paths) -> Path:
    return paths.profiles / "local-finder-taken-over"


def _profile(paths: Paths, folder: Path) -> TakenOver:
    profile = Profile(paths, _name(folder.name))
    chat_log = None
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = file.relative_to(folder).as_posix()
        if name == "history":
            _history(file, profile)
        else:
            copied = _copy(file, profile.folder / _RENAMED.get(name, name), private=name == "tokens.json")
            chat_log = copied if name == _CHAT_LOG else chat_log
    profile.folder.mkdir(0o700, parents=True, exist_ok=True)
    return TakenOver(profile.name, chat_log)


def _history(file: Path, profile: Profile) -> None:
    earlier = profile.history.entries()
    entries = list(readline_entries(file.read_text("utf-8", "replace")))
    if entries and earlier[: len(entries)] != entries:
        profile.history.add(*entries)


def _copy(file: Path, target: Path, *, private: bool = False) -> Path:
    """Where the copy is: at ``target``, or beside it where something else is there."""
    content = file.read_bytes()
    if target.exists() and target.read_bytes() != content:
        target = target.with_name(f"{target.name}.local-finder")
    if not target.exists():
        files.write(target, content, private=private)
    return target


def _name(text: str) -> str:
    """What a profile is called here, where not every name will do."""
    return text if is_name(text) else re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9._-]", "-", text).strip("-")[:64] or "imported"
