"""How long tests wait for what is bound to come: bounds, for a machine that is slow and has much else to do."""

SECONDS = 60.0
"""For one thing: an answer, a text on a screen, the end of a process."""
ALL_SECONDS = 280.0
"""For all that an editor does in one test."""
