"""Where Marvin's own files live. The only module that knows."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Paths(Struct, frozen=True):
    """Marvin's four folders: what a person writes, what Marvin keeps, what it logs, and what may be deleted."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.yaml"

    @property
    def vendors(self) -> Path:
        """Vendor files of the person's own; each describes one provider."""
        return self.config / "vendors"

    @property
    def tools(self) -> Path:
        """Tools of the person's own: ``.py`` files."""
        return self.config / "tools"

    @property
    def keys(self) -> Path:
        """Keys that ``marvin login`` stored, a file per vendor."""
        return self.config / "keys"

    @property
    def models(self) -> Path:
        """Lists of models that vendors gave, a file per vendor."""
        return self.cache / "models"

    @property
    def pages(self) -> Path:
        """Texts that an editor was to show."""
        return self.cache / "pages"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def commands(self) -> Path:
        """Commands of the person's own: Markdown files."""
        return self.config / "commands"

    @property
    def profiles(self) -> Path:
        """What people write of themselves, a folder for each profile."""
        return self.config / "profiles"

    @property
    def last_profile(self) -> Path:
        """The name of the profile that a terminal used last."""
        return self.state / "last_profile"

    def history(self, profile: str) -> Path:
        """The lines that were entered in terminals."""
        return self.data / "profiles" / profile / "history"

    def trust(self, profile: str) -> Path:
        """What a person has accepted of projects' own files, a file for each."""
        return self.data / "profiles" / profile / "trust"

    def checkpoints(self, profile: str) -> Path:
        """Earlier contents of workspaces' files, a folder for each workspace."""
        return self.state / "checkpoints" / profile

    def database(self, profile: str) -> Path:
        """The SQLite file that holds a profile's sessions."""
        return self.data / "profiles" / profile / "marvin.db"


def find(environ: Mapping[str, str]) -> Paths:
    """The folders beneath ``MARVIN_HOME`` when it is set, else the platform's own places."""
    if home := environ.get("MARVIN_HOME"):
        base = Path(home).expanduser().absolute()
        return Paths(base / "config", base / "data", base / "state", base / "cache")
    import platformdirs

    places = platformdirs.PlatformDirs("marvin", appauthor=False)
    return Paths(places.user_config_path, places.user_data_path, places.user_state_path, places.user_cache_path)
