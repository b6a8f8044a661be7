"""List the providers with the model that each would use, its context size and its price."""

import argparse
from typing import Any

from marvin_cli.commands import show, show_json, table
from marvin_server.errors import UsageError
from marvin_server.messages import Usage
from marvin_server.providers import selection, vendors
from marvin_server.session import prices
from marvin_server.settings import Settings

_MILLION = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", help="only this one")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted = [arguments.provider] if arguments.provider else list(selection.names(settings))
    rows = [_offline() if name == selection.OFFLINE else _row(name, settings) for name in wanted]
    if arguments.json:
        show_json(rows)
        return 0
    lines = [("PROVIDER", "MODEL", "CONTEXT", "USD PER MILLION IN / OUT", "STATUS")]
    lines += [(r["provider"], r["model"] or "-", _size(r["context"]), _price(r), r["status"]) for r in rows]
    show(table(lines))
    return 0


def _offline() -> dict[str, Any]:
    return {"provider": "offline", "model": "offline", "context": None, "input": 0.0, "output": 0.0, "status": "ready"}


def _row(name: str, settings: Settings) -> dict[str, Any]:
    row: dict[str, Any] = {"provider": name, "model": None, "context": None, "input": None, "output": None}
    try:
        vendor = vendors.load(name, settings)
        model = vendors.model(vendor, settings)
    except UsageError as error:
        if name not in vendors.names(settings):
            raise
        return {**row, "status": str(error)}
    cache = settings.paths.cache

    def price(usage: Usage) -> float | None:
        return prices.cost(cache, vendor.price_vendor, model, usage)

    found = vendors.key(vendor, settings)
    return {
        **row,
        "model": model,
        "context": vendor.contexts.get(model) or prices.context_size(cache, vendor.price_vendor, model),
        "input": price(Usage(input=_MILLION)),
        "output": price(Usage(output=_MILLION)),
        "status": f"key from {found.origin}" if found.value else found.origin,
    }


def _size(context: int | None) -> str:
    return f"{context:,}" if context else "unknown"


def _price(row: dict[str, Any]) -> str:
    if row["input"] is None or row["output"] is None:
        return "price unknown"
    return f"{row['input']:g} / {row['output']:g}"
