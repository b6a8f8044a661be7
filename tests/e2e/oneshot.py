"""What the tests of ``marvin --non-interactive`` share."""

from typing import Any

GREETING = "Hello, wörld! 🌍"
ASK = ("--non-interactive", "--prompt", "Say hello")
COST_FREE: dict[str, Any] = {"session_cost": 0.0, "llm_turns": 0, "model_turns": {}, "model_cost": {}}


def lines(stderr: str) -> list[str]:
    """What a person reads on stderr: without the cost."""
    return stderr.splitlines()[:-1]
