"""``marvin path``: where the parts for the editors are."""

import argparse
import json
from pathlib import Path

import pytest
from marvin_cli.commands import path

from marvin_server import settings
from marvin_server.errors import MarvinError

EDITORS = Path(__file__).parents[2] / "editors"


def _run(*words: str, is_json: bool = False) -> int:
    parser = argparse.ArgumentParser()
    path.add_arguments(parser)
    arguments = parser.parse_args(words)
    arguments.json = is_json
    return path.run(arguments, settings.load({}))


def test_the_folder_of_the_checkout_is_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert _run("nvim") == 0
    assert capfdbinary.readouterr().out.decode() == f"{EDITORS / 'nvim'}\n"
    assert (EDITORS / "nvim" / "plugin" / "marvin.lua").is_file()


def test_json_names_the_editor_and_the_path(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert _run("nvim", is_json=True) == 0
    assert json.loads(capfdbinary.readouterr().out) == {"editor": "nvim", "path": str(EDITORS / "nvim")}


@pytest.mark.parametrize("package", ["site-packages/marvin_cli", "checkout/cli/marvin_cli"])
def test_the_packed_extension_is_printed_where_it_is_there(package: str, tmp_path: Path) -> None:
    installed = tmp_path / package
    editors = tmp_path / "checkout" / "editors" if "checkout" in package else installed / "editors"
    (editors / "vscode").mkdir(parents=True)
    with pytest.raises(MarvinError, match="make vsix"):
        path.editor_part("vscode", installed)
    (editors / "vscode" / "marvin.vsix").touch()
    assert path.editor_part("vscode", installed) == editors / "vscode" / "marvin.vsix"


def test_a_part_that_this_installation_lacks_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(MarvinError, match="no part for nvim"):
        path.editor_part("nvim", tmp_path / "cli" / "marvin_cli")
