"""``marvin path``: where the parts for the editors are."""

import argparse
import json
from pathlib import Path

import pytest
from marvin_cli.commands import path

from marvin_server import settings
from marvin_server.errors import UsageError

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


def test_an_editor_that_this_installation_has_no_part_for_is_refused() -> None:
    with pytest.raises(UsageError, match="has no part for vi"):
        path.editor_folder("vi")
