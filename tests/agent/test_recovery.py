"""What follows a failed model request."""

import pytest

from marvin_server.agent.recovery import Recovery
from marvin_server.errors import (
    Auth,
    BadRequest,
    ContextOverflow,
    Interrupted,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
    UsageError,
)
from tests.agent.scripted import Scripted

LIMITS = [
    RateLimited("slow down", status=429),
    Overloaded("too many", status=529),
    Overloaded("later", status=503, retry_after=1.0),
]
FAULTS = [
    Auth("no key", status=401),
    Interrupted("cut"),
    Overloaded("broken", status=500),
    Overloaded("no time", status=503),
    TimedOut("silence"),
    Unreachable("nobody there"),
]


def fallback(name: str) -> Scripted:
    provider = Scripted()
    provider.name = name
    return provider


@pytest.mark.parametrize("error", LIMITS, ids=lambda error: str(error.status))
def test_a_limit_is_waited_out_three_times_then_the_next_provider_answers(error: ProviderError) -> None:
    second = fallback("second")
    recovery = Recovery(Scripted(), lambda: [lambda: second])
    waits = [step.seconds for step in (recovery.after(error) for _ in range(3)) if step]
    wanted = [1.0, 1.0, 1.0] if error.retry_after else [1.0, 2.0, 4.0]
    assert [wait - least for wait, least in zip(waits, wanted, strict=True)] == pytest.approx([0.125] * 3, abs=0.125)
    step = recovery.after(error)
    assert step is not None
    assert (step.seconds, recovery.provider) == (0.0, second)
    assert step.text.endswith("; going on with second (script-1)")


@pytest.mark.parametrize("error", FAULTS, ids=str)
def test_a_fault_goes_to_the_next_provider_at_once(error: ProviderError) -> None:
    first, second = fallback("first"), fallback("second")
    recovery = Recovery(first, lambda: [lambda: second])
    step = recovery.after(error)
    assert step is not None
    assert (step.seconds, step.text) == (0.0, f"{error}; going on with second (script-1)")
    assert recovery.after(error) is None
    assert recovery.provider is second


@pytest.mark.parametrize("error", [BadRequest("wrong"), ContextOverflow("too long")], ids=["request", "overflow"])
def test_what_is_wrong_with_the_request_is_no_other_providers_to_mend(error: ProviderError) -> None:
    first = fallback("first")
    recovery = Recovery(first, lambda: [lambda: fallback("second")])
    assert (recovery.after(error), recovery.provider) == (None, first)


def test_a_limit_longer_than_two_minutes_is_not_waited_out() -> None:
    assert Recovery(Scripted(), list).after(RateLimited("tomorrow", retry_after=86_400.0)) is None


def test_a_fallback_that_cannot_be_made_is_named_and_passed_over() -> None:
    def unusable() -> Scripted:
        raise UsageError("unknown provider")

    third = fallback("third")
    recovery = Recovery(Scripted(), lambda: [unusable, lambda: third])
    step = recovery.after(Unreachable("nobody there"))
    assert step is not None
    assert step.text == "nobody there (unknown provider); going on with third (script-1)"
