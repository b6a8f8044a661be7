"""Tokens and money that a session has used, as a tally per model."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.messages import Charge, Usage


class ModelUsage(Struct, frozen=True):
    """What one model of one provider has used.

    ``cost`` is in USD and sums the requests whose price is known; ``unpriced`` counts the others. ``saved`` is what
    cached tokens saved in USD, below 0 where writing them cost more than reading them saved.
    """

    provider: str
    model: str
    requests: int
    usage: Usage
    cost: float
    unpriced: int = 0
    saved: float = 0.0


class Tally:
    """The usage so far. It may start from ``rows`` that were stored before, one per provider and model."""

    def __init__(self, rows: Iterable[ModelUsage] = ()) -> None:
        self._rows = {(row.provider, row.model): row for row in rows}

    def add(self, provider: str, model: str, usage: Usage, charge: Charge) -> None:
        """Count one model request."""
        row = self._rows.get((provider, model)) or ModelUsage(provider, model, 0, Usage(), 0.0)
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
    def usage(self) -> Usage:
        """The tokens of all models."""
        return sum((row.usage for row in self._rows.values()), Usage())

    @property
    def cost(self) -> float:
        """USD, the sum of all known prices."""
        return _usd(sum((row.cost for row in self._rows.values()), 0.0))

    @property
    def saved(self) -> float:
        """USD, what cached tokens saved in all."""
        return _usd(sum((row.saved for row in self._rows.values()), 0.0))

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
        line: dict[str, Any] = {
            "session_cost": self.cost,
            "llm_turns": sum(turns.values()),
            "model_turns": turns,
            "model_cost": costs,
        }
        if unpriced := [model for model, cost in costs.items() if cost is None]:
            line["unpriced"] = unpriced
        if self.saved > 0:
            line["cache_savings"] = self.saved
        return line

    def report(self) -> str:
        """The tally as lines of text, one per model after the total."""
        if not self._rows:
            return "No model request so far."
        rows = self._rows.values()
        unpriced = sum(row.unpriced for row in rows)
        total = ModelUsage("", "", sum(row.requests for row in rows), self.usage, self.cost, unpriced, self.saved)
        return "\n".join([f"Total: {_line(total)}", *(f"- {row.provider}/{row.model}: {_line(row)}" for row in rows)])


def _usd(amount: float) -> float:
    """``amount`` without the noise of adding floats: a request's price has no digits beyond the twelfth."""
    return round(amount, 12)


def _line(row: ModelUsage) -> str:
    used = row.usage
    cached = f" ({used.cache_read:,} cached)" if used.cache_read else ""
    tokens = f"{used.input:,} tokens in{cached}, {used.output:,} out"
    if row.unpriced == row.requests:
        price = "price unknown"
    elif row.unpriced:
        price = f"${row.cost:.4f} and {row.unpriced} of unknown price"
    else:
        price = f"${row.cost:.4f}"
    saved = round(row.saved, 4)
    caching = f", saved ${saved:.4f} by caching" if saved > 0 else f", caching cost ${-saved:.4f} more" if saved else ""
    return f"{row.requests:,} {'request' if row.requests == 1 else 'requests'}, {tokens}, {price}{caching}"
