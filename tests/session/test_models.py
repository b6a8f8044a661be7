"""What holds for a model, from the strongest source that says it."""

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import asdict

from marvin_server import settings as settings_module
from marvin_server.errors import UsageError
from marvin_server.messages import Charge, Usage
from marvin_server.providers import selection, vendors
from marvin_server.providers.offline import Offline
from marvin_server.providers.selection import Choice, Terms
from marvin_server.session import models
from marvin_server.session.models import ModelFacts
from marvin_server.settings import Settings

MILLION = 1_000_000
OPENAI = Terms(price_vendor="openai")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config" / "vendors").mkdir(parents=True)
    return tmp_path


def settings(home: Path, text: str = "", **flags: object) -> Settings:
    (home / "config" / "config.yaml").write_text(text)
    environ = {"MARVIN_HOME": str(home), "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "XAI_API_KEY": "k"}
    loaded = settings_module.load(flags, environ)
    assert loaded.warnings == ()
    return loaded


def gateway(home: Path, text: str) -> Terms:
    file = home / "config" / "vendors" / "gateway.yaml"
    file.write_text(f"wire_api: openai_chat\nbase_url: http://127.0.0.1:9/v1\n{text}")
    return Terms(price_vendor="openai", vendor=vendors.load("gateway", settings(home)))


def test_the_settings_come_before_the_vendors_file_which_comes_before_what_is_published(home: Path) -> None:
    published = models.facts(settings(home), OPENAI, "gpt-4o")
    assert published == ModelFacts(128_000, tools=True, images=True, thinking=False)
    terms = gateway(home, "contexts: {gpt-4o: 64000}\nabilities: {gpt-: [], gpt-4: [tools, thinking]}\n")
    assert models.facts(settings(home), terms, "gpt-4o") == ModelFacts(64_000, True, False, True)
    said = settings(home, "models: {gpt-4o: {context: 32000, images: true, tools: false}}")
    assert models.facts(said, terms, "gpt-4o") == ModelFacts(32_000, False, True, True)
    assert models.facts(said, Terms(), "gpt-4") == ModelFacts()


def test_a_price_of_the_settings_replaces_the_published_one(home: Path) -> None:
    usage = Usage(MILLION, MILLION, cache_read=500_000)
    assert models.charge(settings(home), OPENAI, usage, "gpt-4o", "gpt-4o") == Charge(11.875, 0.625)
    said = settings(home, "models: {gpt-4o: {input: 1, cache_read: 0.5}}")
    assert models.charge(said, OPENAI, usage, "gpt-4o", "gpt-4o") == Charge(10.75, 0.25)
    # What answers under another name costs what was asked for.
    assert models.charge(said, OPENAI, usage, "gpt-4o-of-today", "gpt-4o") == Charge(10.75, 0.25)


def test_a_price_is_known_once_prompts_and_answers_have_one(home: Path) -> None:
    half, whole = "models: {mine: {input: 1}}", "models: {mine: {input: 1, output: 0}}"
    assert models.cost(settings(home, half), Terms(), "mine", Usage(MILLION)) is None
    assert models.cost(settings(home, whole), Terms(), "mine", Usage(MILLION)) == 1.0
    free = Terms(free=True)
    assert models.cost(settings(home), free, "mine", Usage(MILLION)) == 0.0
    assert models.cost(settings(home, half), free, "mine", Usage(MILLION)) == 1.0


def test_a_cost_limit_needs_a_price(home: Path) -> None:
    unknown, free = Choice(Offline()), Choice(Offline(), free=True)
    models.check_price(settings(home), unknown)
    models.check_price(settings(home, max_cost=1), free)
    models.check_price(settings(home, "models: {offline: {input: 1, output: 1}}", max_cost=1), unknown)
    with pytest.raises(UsageError, match="--max-cost cannot hold: the price of offline is unknown"):
        models.check_price(settings(home, max_cost=1), unknown)


def model_after(name: str, model: str, settings: Settings) -> str | None:
    asked = selection.named(name, dataclasses.replace(settings, model=model))
    found = models.larger(settings, asked)
    return found and found.provider.model


@pytest.mark.parametrize("name", ["anthropic", "openai", "xai"])
def test_every_larger_model_of_a_built_in_vendor_is_known_to_read_more_and_has_a_price(name: str, home: Path) -> None:
    chosen = settings(home)
    vendor = vendors.load(name, chosen)
    assert vendor.larger
    terms = selection.vendor_terms(vendor, vendor.base_url)
    for model, following in vendor.larger.items():
        smaller, larger = (models.facts(chosen, terms, one).context for one in (model, following))
        assert (smaller or 0) < (larger or 0), (model, following)
        assert models.cost(chosen, terms, following, Usage(1, 1)), following


def test_what_reads_no_more_is_no_larger_model(home: Path) -> None:
    assert model_after("openai", "gpt-4o", settings(home)) == "gpt-4.1"
    assert model_after("openai", "gpt-4.1", settings(home)) is None
    said = settings(home, "models: {gpt-4o: {larger: o3}, o3: {larger: gpt-4o}, gpt-4.1: {larger: nobody-knows}}")
    assert [model_after("openai", model, said) for model in ("gpt-4o", "o3", "gpt-4.1")] == ["o3", None, None]


def test_a_choice_has_the_terms_of_its_vendor(home: Path) -> None:
    chosen = settings(home)
    vendor = vendors.load("openai", chosen)
    made = selection.named("openai", chosen)
    expected = asdict(Terms(price_vendor="openai", vendor=vendor))
    assert {name: getattr(made, name) for name in expected} == expected
