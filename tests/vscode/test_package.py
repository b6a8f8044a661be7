"""What package.json says of the extension."""

import json

from marvin_server import __version__
from tests.vscode.code_server import EXTENSION


def test_the_extension_has_the_version_of_the_distribution() -> None:
    for name in ("package.json", "package-lock.json"):
        assert json.loads((EXTENSION / name).read_text())["version"] == __version__
