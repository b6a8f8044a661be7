"""What follows a failed model request."""

from collections.abc import Callable

import pytest

from marvin_server.agent.recovery import Larger, Recovery, Step, Ways
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
from marvin_server.providers.base import Provider
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


def recovery_of(first: Provider, *makers: Callable[[], Provider], larger: Larger | None = None) -> Recovery:
    return Recovery(first, Ways(lambda: makers, lambda _: larger))


def fallback(name: str) -> Scripted:
    provider = Scripted()
    provider.name = name
    return provider


@pytest.mark.parametrize("error", LIMITS, ids=lambda error: str(error.status))
async def test_a_limit_is_waited_out_three_times_then_the_next_provider_answers(error: ProviderError) -> None:
    second = fallback("second")
    recovery = recovery_of(Scripted(), lambda: second)
    waits = [step.seconds for _ in range(3) if (step := await recovery.after(error))]
    wanted = [1.0, 1.0, 1.0] if error.retry_after else [1.0, 2.0, 4.0]
    assert [wait - least for wait, least in zip(waits, wanted, strict=True)] == pytest.approx([0.125] * 3, abs=0.125)
    step = await recovery.after(error)
    assert step is not None
    assert (step.seconds, recovery.provider) == (0.0, second)
    assert step.text.endswith("; going on with second (script-1)")


@pytest.mark.parametrize("error", FAULTS, ids=str)
async def test_a_fault_goes_to_the_next_provider_at_once(error: ProviderError) -> None:
    first, second = fallback("first"), fallback("second")
    recovery = recovery_of(first, lambda: second)
    step = await recovery.after(error)
    assert step is not None
    assert (step.seconds, step.text) == (0.0, f"{error}; going on with second (script-1)")
    assert await recovery.after(error) is None
    assert recovery.provider is second


async def test_what_is_wrong_with_the_request_is_no_other_providers_to_mend() -> None:
    first = fallback("first")
    recovery = recovery_of(first, lambda: fallback("second"))
    assert (await recovery.after(BadRequest("wrong")), recovery.provider) == (None, first)


@pytest.mark.parametrize(("context", "told"), [(1_047_576, ", which reads 1,047,576 tokens"), (None, "")])
async def test_a_conversation_that_is_too_long_goes_on_with_a_larger_model(context: int | None, told: str) -> None:
    first, big = fallback("first"), fallback("first")
    big.model = "script-2"
    recovery = recovery_of(first, lambda: fallback("second"), larger=Larger(big, context))
    step = await recovery.after(ContextOverflow("too long"))
    assert step == Step(0.0, f"too long; going on with first (script-2){told}")
    assert recovery.provider is big


async def test_without_a_larger_model_the_person_is_told_what_to_do() -> None:
    def unpriced(_: Provider) -> Larger:
        raise UsageError("the price of script-2 is unknown")

    advice = "begin a new session, or name a model that reads more than script-1 with --model"
    first = fallback("first")
    for ways, why in ((Ways(list, lambda _: None), ""), (Ways(list, unpriced), " (the price of script-2 is unknown)")):
        recovery = Recovery(first, ways)
        with pytest.raises(ContextOverflow) as caught:
            await recovery.after(ContextOverflow("too long", status=400))
        assert (str(caught.value), caught.value.status) == (f"too long{why}; {advice}", 400)
        assert recovery.provider is first


async def test_a_limit_longer_than_two_minutes_is_not_waited_out() -> None:
    assert await recovery_of(Scripted()).after(RateLimited("tomorrow", retry_after=86_400.0)) is None


async def test_a_fallback_that_cannot_be_made_is_named_and_passed_over() -> None:
    def unusable() -> Scripted:
        raise UsageError("unknown provider")

    third = fallback("third")
    recovery = recovery_of(Scripted(), unusable, lambda: third)
    step = await recovery.after(Unreachable("nobody there"))
    assert step is not None
    assert step.text == "nobody there (unknown provider); going on with third (script-1)"
