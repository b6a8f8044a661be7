"""The options that subcommands share."""

import pytest
from marvin_cli.commands import common, run


def test_a_command_that_prints_nothing_takes_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--json" in common().format_help()
    with pytest.raises(SystemExit):
        run(["lsp", "--help"])
    assert "--json" not in capsys.readouterr().out
