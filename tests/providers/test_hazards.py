"""Every wire API meets every hazard as docs/providers.md says."""

import pytest

from marvin_server.providers.vendor_files import WIRE_APIS
from tests.providers.hazards import BEGIN, END, HAZARDS, PAGE, Hazard, table


@pytest.mark.parametrize("wire", WIRE_APIS)
@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
async def test_a_hazard_ends_as_the_page_says(wire: str, hazard: Hazard) -> None:
    assert await hazard.meet(wire) == hazard.outcome(wire)


def test_the_page_shows_what_the_tests_prove() -> None:
    proven = table({(hazard, wire): hazard.outcome(wire) for hazard in HAZARDS for wire in WIRE_APIS})
    written = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written == proven, "run: python -m tests.providers.hazards"
