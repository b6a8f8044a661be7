"""List the providers with the model that each would use, its context size and its price."""

import argparse
from typing import Any

from marvin_cli.commands import show, show_json, table
from marvin_server.errors import UsageError
from marvin_server.messages import Usage
from marvin_server.providers import selection
from marvin_server.providers.readiness import Readiness, readiness
from marvin_server.session import prices
from marvin_server.settings import Settings

_MILLION = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", help="only this one")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted = [arguments.provider] if arguments.provider else list(selection.names(settings))
    rows: list[dict[str, Any]] = []
    for name in wanted:
        try:
            rows.append(_row(name, readiness(name, settings), settings))
        except UsageError as error:
            if arguments.provider:
                raise
            rows.append(_row(name, Readiness(False, str(error)), settings))
    if arguments.json:
        show_json(rows)
        return 0
    lines = [("PROVIDER", "MODEL", "CONTEXT", "USD PER MILLION IN / OUT", "STATUS")]
    lines += [(r["provider"], r["model"] or "-", _size(r["context"]), _price(r), r["status"]) for r in rows]
    show(table(lines))
    return 0


def _row(name: str, state: Readiness, settings: Settings) -> dict[str, Any]:
    cache, vendor, model = settings.paths.cache, state.price_vendor, state.model or ""

    def price(usage: Usage) -> float | None:
        return 0.0 if state.free else prices.cost(cache, vendor, model, usage)

    return {
        "provider": name,
        "model": state.model,
        "context": state.context or prices.context_size(cache, vendor, model),
        "input": price(Usage(input=_MILLION)),
        "output": price(Usage(output=_MILLION)),
        "status": state.text,
    }


def _size(context: int | None) -> str:
    return f"{context:,}" if context else "unknown"


def _price(row: dict[str, Any]) -> str:
    if row["input"] is None or row["output"] is None:
        return "price unknown"
    return f"{row['input']:g} / {row['output']:g}"
