"""Puts the packed VS Code extension into the wheel where ``make vsix`` has made it; npm is not needed without it."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackedExtension(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        packed = Path(self.root, "editors", "vscode", "marvin.vsix")
        if version == "standard" and packed.is_file():
            build_data["force_include"][str(packed)] = "marvin_cli/editors/vscode/marvin.vsix"
