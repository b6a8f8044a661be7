"""Takes what an earlier assistant has cost in its lifetime, its ``usage.json``, into the store.

The file is a JSON object with requests and USD by model: ``turns`` and ``cost``, or ``modelTurns`` and ``modelCost``,
with the sum as ``total_cost`` or ``totalCostUsd``; or these in an object called ``lifetime``.
"""

from pathlib import Path
from typing import Any, cast

import msgspec

from marvin_server.errors import MarvinError
from marvin_server.session.database import Database
from marvin_server.session.spending import Spending
from marvin_server.session.usage import ModelUsage

# The provider that these models are listed with, which marks them as taken over.
_PROVIDER = "local-finder"
_REST = "other models"
_LARGEST = 2**53


def take_in(database: Path, file: Path) -> None:
    """Have all that the file tells in the store, once, whatever is done again. Raises ``MarvinError`` for a file that
    cannot be understood."""
    try:
        rows = _rows(msgspec.json.decode(file.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise MarvinError(f"{file}: what was spent earlier cannot be read ({error}); it is left as it is") from error
    store = Database.open(database)
    try:
        Spending(store).take_over(rows)
    finally:
        store.close()


def _rows(content: object) -> list[ModelUsage]:
    fields = _object(content)
    fields = _object(fields.get("lifetime", fields))
    turns = _object(fields.get("turns", fields.get("modelTurns", {})))
    costs = _object(fields.get("cost", fields.get("modelCost", {})))
    rows = [
        ModelUsage(int(_amount(turns, model)), cost=_amount(costs, model), provider=_PROVIDER, model=model)
        for model in dict.fromkeys((*turns, *costs))
    ]
    total = _amount(fields, "total_cost" if "total_cost" in fields else "totalCostUsd")
    rest = total - sum(row.cost for row in rows)
    return [*rows, ModelUsage(cost=rest, provider=_PROVIDER, model=_REST)] if rest > total * 1e-9 else rows


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueError(f"expected an object, not {str(value)[:40]!r}")


def _amount(amounts: dict[str, Any], name: str) -> float:
    value = amounts.get(name, 0)
    if isinstance(value, int | float) and 0 <= value < _LARGEST:
        return float(value)
    raise ValueError(f"expected an amount, not {str(value)[:40]!r}")
