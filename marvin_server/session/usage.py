"""Tokens and money that model requests have used: values, a tally per model, and the texts on them."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.messages import Charge, Usage


class Used(Struct, frozen=True):
    """What some requests have used.

    ``cost`` is in USD and sums the requests whose price is known; ``unpriced`` counts the others. ``saved`` is what
    cached tokens saved in USD, below 0 where writing them cost more than reading them saved.
    """

    requests: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    unpriced: int = 0
    saved: float = 0.0

    @property
    def whole_cost(self) -> float | None:
        """USD for all of them, None while a price is unknown."""
        return None if self.unpriced else self.cost

    def __str__(self) -> str:
        used = self.usage
        cached = f" ({used.cache_read:,} cached)" if used.cache_read else ""
        tokens = f"{used.input:,} tokens in{cached}, {used.output:,} out"
        if self.unpriced and self.unpriced == self.requests:
            price = "price unknown"
        elif self.unpriced:
            price = f"${self.cost:,.4f} and {self.unpriced} of unknown price"
        else:
            price = f"${self.cost:,.4f}"
        return f"{self.requests:,} {'request' if self.requests == 1 else 'requests'}, {tokens}, {price}{self._caching}"

    @property
    def _caching(self) -> str:
        saved = round(self.saved, 4)
        if saved < 0:
            return f", caching cost ${-saved:,.4f} more"
        return f", saved ${saved:,.4f} by caching" if saved else ""


class ModelUsage(Used, frozen=True, kw_only=True):
    """What one model of one provider has used."""

    provider: str
    model: str


class Tally:
    """The usage so far. It may start from ``rows`` that were stored before, one per provider and model."""

    def __init__(self, rows: Iterable[ModelUsage] = ()) -> None:
        self._rows = {(row.provider, row.model): row for row in rows}

    def add(self, provider: str, model: str, usage: Usage, charge: Charge) -> None:
        """Count one model request."""
        row = self._rows.get((provider, model)) or ModelUsage(provider=provider, model=model)
        self._rows[provider, model] = replace(
            row,
            requests=row.requests + 1,
            usage=row.usage + usage,
            cost=row.cost + (charge.cost or 0.0),
            unpriced=row.unpriced + (charge.cost is None),
            saved=row.saved + (charge.saved or 0.0),
        )

    @property
    def rows(self) -> tuple[ModelUsage, ...]:
        """One row per provider and model, in the order of their first requests."""
        return tuple(self._rows.values())

    @property
    def total(self) -> Used:
        """What all models have used."""
        rows = self._rows.values()
        return Used(
            sum(row.requests for row in rows),
            sum((row.usage for row in rows), Usage()),
            _usd(sum((row.cost for row in rows), 0.0)),
            sum(row.unpriced for row in rows),
            _usd(sum((row.saved for row in rows), 0.0)),
        )

    def cost_line(self) -> dict[str, Any]:
        """The object behind ``MARVIN_COST:``.

        ``session_cost`` (USD, known prices only), ``llm_turns`` (model requests), ``model_turns`` and ``model_cost``
        by model name. A model with any request of unknown price costs None and is listed in ``unpriced``, a key that
        is there only when such a model is, as ``cache_savings`` (USD) is only when there are any.
        """
        turns: dict[str, int] = {}
        costs: dict[str, float | None] = {}
        for row in self._rows.values():
            turns[row.model] = turns.get(row.model, 0) + row.requests
            before = costs.get(row.model, 0.0)
            costs[row.model] = None if before is None or row.unpriced else _usd(before + row.cost)
        total = self.total
        line: dict[str, Any] = {
            "session_cost": total.cost,
            "llm_turns": total.requests,
            "model_turns": turns,
            "model_cost": costs,
        }
        if unpriced := [model for model, cost in costs.items() if cost is None]:
            line["unpriced"] = unpriced
        if total.saved > 0:
            line["cache_savings"] = total.saved
        return line

    def report(self) -> str:
        """The tally as lines of text, one per model after the total."""
        if not self._rows:
            return "No model request so far."
        return "\n".join([f"Total: {self.total}", *(f"- {row.provider}/{row.model}: {row}" for row in self.rows)])


def _usd(amount: float) -> float:
    """``amount`` without the noise of adding floats: a request's price has no digits beyond the twelfth."""
    return round(amount, 12)
