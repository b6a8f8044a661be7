"""What a model request costs, and how much a model can read, by the data of the package ``genai-prices``.

Importing that package takes longer than everything else at start, so each answer is kept in a small cache file.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from marvin_server.messages import Usage, new_id

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

# In units of 10^-24 a price per token is a whole number, so that sums are exact; as floats they would not be.
_USD = 10**24


class _Rate(Struct, frozen=True):
    """The price of one token (or request) as a fraction of ``_USD``.

    Each of ``tiers``, ascending by its first item, replaces ``base`` for a request of more input tokens than that.
    """

    base: int
    tiers: tuple[tuple[int, int], ...] = ()

    def at(self, input_tokens: int) -> int:
        return next((rate for start, rate in reversed(self.tiers) if input_tokens > start), self.base)


class _Entry(Struct, frozen=True):
    """What is known of a model until ``until`` (ISO 8601 UTC; None: for good). No ``rates``: its price is unknown."""

    context: int | None = None
    rates: Mapping[str, _Rate] | None = None
    until: str | None = None


def cost(cache: Path, vendor: str | None, model: str, usage: Usage, at: datetime | None = None) -> float | None:
    """The price in USD of one request made ``at`` a time in UTC (default: now), or None when it is unknown.

    ``vendor`` is a provider id of genai-prices (``openai``, ``google``, …), or None for an endpoint that it does not
    know: nothing is then known of its models, whatever their names. Answers are kept in ``prices.json`` beneath the
    folder ``cache``; where that cannot be read or written, it is done without.
    """
    rates = _entry(cache, vendor, model, at or datetime.now(UTC)).rates
    if rates is None:
        return None
    # A kind of token without a rate of its own costs what any token of its direction costs.
    read = usage.cache_read if "cache_read" in rates else 0
    written = usage.cache_write if "cache_write" in rates else 0
    counts = {
        "input": max(0, usage.input - read - written),
        "output": usage.output,
        "cache_read": read,
        "cache_write": written,
        "request": 1,
    }
    return sum(rate.at(usage.input) * counts[kind] for kind, rate in rates.items()) / _USD


def context_size(cache: Path, vendor: str | None, model: str) -> int | None:
    """How many tokens the model can read, or None when it is unknown; the arguments are those of ``cost``."""
    return _entry(cache, vendor, model, datetime.now(UTC)).context


def _entry(cache: Path, vendor: str | None, model: str, at: datetime) -> _Entry:
    if vendor is None:
        return _Entry()
    file, fingerprint, key = cache / "prices.json", _fingerprint(), f"{vendor}/{model}"
    models = _load(file, fingerprint)
    entry = _from_json(models.get(key))
    if entry is None or (entry.until is not None and at.isoformat() >= entry.until):
        entry = _look_up(vendor, model, at)
        if fingerprint is not None:
            _save(file, fingerprint, {**models, key: to_builtins(entry)})
    return entry


def _load(file: Path, fingerprint: list[Any] | None) -> dict[str, Any]:
    try:
        cached = json.loads(file.read_bytes())
        return dict(cached["models"]) if cached["fingerprint"] == fingerprint else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _save(file: Path, fingerprint: list[Any], models: Mapping[str, Any]) -> None:
    draft = file.with_name(f"{file.name}.{new_id()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"fingerprint": fingerprint, "models": models}), encoding="utf-8")
        draft.replace(file)


def _fingerprint() -> list[Any] | None:
    """Path, size and time of the installed data file, found without importing the package; None when there is none."""
    from importlib.util import find_spec

    spec = find_spec("genai_prices")
    if spec is None or spec.origin is None:
        return None
    try:
        path = Path(spec.origin).with_name("data.py")
        stat = path.stat()
    except OSError:
        return None
    return [str(path), stat.st_size, stat.st_mtime_ns]


def _from_json(value: Any) -> _Entry | None:
    """The entry that ``asdict`` and JSON made ``value`` of; None for anything else."""
    try:
        rates = value["rates"] and {
            kind: _Rate(rate["base"], tuple((start, price) for start, price in rate["tiers"]))
            for kind, rate in value["rates"].items()
        }
        return _Entry(value["context"], rates, value["until"])
    except (LookupError, ValueError, TypeError, AttributeError):
        return None


def _look_up(vendor: str, model: str, at: datetime) -> _Entry:
    """Ask the package itself."""
    from genai_prices import calc_price
    from genai_prices import types as genai

    try:
        answer = calc_price(genai.Usage(), model, provider_id=vendor, genai_request_timestamp=at)
    except LookupError:
        return _Entry()
    until = _next_change(answer.model, at)
    return _Entry(
        answer.model.context_window,
        _rates(answer.model_price, model),
        until.isoformat() if until else None,
    )


def _rates(price: "ModelPrice", model: str) -> dict[str, _Rate] | None:
    """The rates of what Marvin counts, or None where the package does not price both prompts and answers.

    An OpenRouter model whose name ends in ``:free`` costs nothing; the package has no price for it.
    """
    if price.input_mtok is None or price.output_mtok is None:
        return {} if model.endswith(":free") else None
    found = {
        "input": (price.input_mtok, 10**6),
        "output": (price.output_mtok, 10**6),
        "cache_read": (price.cache_read_mtok, 10**6),
        "cache_write": (price.cache_write_mtok, 10**6),
        "request": (price.requests_kcount, 10**3),
    }
    return {kind: _rate(value, per) for kind, (value, per) in found.items() if value is not None}


def _rate(price: "Decimal | TieredPrices", per: int) -> _Rate:
    from genai_prices.types import TieredPrices

    scale = _USD // per
    if isinstance(price, TieredPrices):
        return _Rate(round(price.base * scale), tuple((tier.start, round(tier.price * scale)) for tier in price.tiers))
    return _Rate(round(price * scale))


def _next_change(model: "ModelInfo", at: datetime) -> datetime | None:
    """The first moment after ``at`` at which a start date or a time of day may change the model's price."""
    from genai_prices.types import StartDateConstraint, TimeOfDateConstraint

    midnight = datetime(at.year, at.month, at.day, tzinfo=UTC)
    changes: list[datetime] = []
    for conditional in model.prices if isinstance(model.prices, list) else ():
        match conditional.constraint:
            case StartDateConstraint(start_date=day):
                changes.append(datetime(day.year, day.month, day.day, tzinfo=UTC))
            case TimeOfDateConstraint(start_time=start, end_time=end):
                for clock in (start, end):
                    offset = timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second)
                    changes += [midnight + offset, midnight + offset + timedelta(days=1)]
            case None:
                pass
    return min((change for change in changes if change > at), default=None)
