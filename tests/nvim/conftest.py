"""Every test that drives a script does so in each Neovim that is supported."""

from functools import partial

import pytest

from tests.nvim import neovim
from tests.nvim.neovim import Drive


@pytest.fixture(params=neovim.VERSIONS)
def drive(request: pytest.FixtureRequest) -> Drive:
    """``neovim.drive`` with one of the Neovims."""
    return partial(neovim.drive, neovim.neovim(request.param))
