"""List the providers and the models that each would use or offers: context size, price and abilities."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from marvin_cli.commands import show, show_json, table
from marvin_server.errors import MarvinError, Unreachable, UsageError
from marvin_server.messages import Usage
from marvin_server.providers import model_list, selection, vendors
from marvin_server.providers.transport import is_loopback
from marvin_server.sanitise import one_line
from marvin_server.session import models
from marvin_server.session.offers import Offer, OfferedModel, offer
from marvin_server.settings import Settings

_MILLION = 1_000_000
_COLUMNS = ("CONTEXT", "USD PER MILLION IN / OUT", "CAN")
_ABILITIES = ("tools", "images", "thinking")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", help="only this one")
    parser.add_argument("--refresh", action="store_true", help="ask for the models that are offered now")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted = [arguments.provider] if arguments.provider else list(selection.names(settings))
    code = asyncio.run(_refresh(wanted, settings, asked_for=bool(arguments.provider))) if arguments.refresh else 0
    rows = [_row(offer(name, settings, asked_for=bool(arguments.provider)), settings) for name in wanted]
    if arguments.json:
        show_json(rows)
        return code
    lines = [("PROVIDER", "MODEL", *_COLUMNS, "STATUS")]
    lines += [(r["provider"], r["model"] or "-", *_cells(r), r["status"]) for r in rows]
    show(table(lines))
    for row in rows:
        if offered := row["offered"]:
            show(f"\nModels of {row['provider']}, as of {offered['at'][:16].replace('T', ' ')} UTC")
            offers = [(o["model"], *_cells(o)) for o in offered["models"]]
            show(table([("MODEL", *_COLUMNS), *offers]))
    return code


async def _refresh(names: Sequence[str], settings: Settings, *, asked_for: bool) -> int:
    """Ask each for its models, all at once; one line for each that fails. The exit code counts what was asked for."""
    if asked_for and names[0] in selection.OTHERS:
        raise UsageError(f"{names[0]} does not list its models")
    answers = await asyncio.gather(
        *(_refresh_one(name, settings, asked_for=asked_for) for name in names if name not in selection.OTHERS)
    )
    for problem in filter(None, answers):
        sys.stderr.write(f"marvin: {one_line(problem)}\n")
    return int(asked_for and any(answers))


async def _refresh_one(name: str, settings: Settings, *, asked_for: bool) -> str | None:
    """What went wrong. Without being asked for, a vendor without a key is passed over, and a local one that is off."""
    try:
        vendor = vendors.load(name, settings, selection.OTHERS)
        is_local = is_loopback(model_list.address(vendor, settings))
        if asked_for or is_local or vendors.key(vendor, settings).value:
            try:
                await model_list.refresh(vendor, settings)
            except Unreachable:
                if asked_for or not is_local:
                    raise
    except MarvinError as error:
        if asked_for and isinstance(error, UsageError):
            raise
        return str(error)
    return None


def _row(found: Offer, settings: Settings) -> dict[str, Any]:
    own = found.own
    listed = [{"model": each.name, **_facts(each, settings)} for each in found.listed]
    return {
        "provider": found.provider,
        "model": own.name if own else None,
        **_facts(own or OfferedModel("", models.facts(settings, found.state, ""), found.state), settings),
        "status": found.state.text,
        "offered": {"at": found.at, "models": listed} if found.at else None,
    }


def _facts(offered: OfferedModel, settings: Settings) -> dict[str, Any]:
    """Context size in tokens, USD per million tokens, and abilities; None: unknown."""
    name, terms, known = offered.name, offered.terms, offered.facts
    return {
        "context": known.context,
        "input": models.cost(settings, terms, name, Usage(input=_MILLION)),
        "output": models.cost(settings, terms, name, Usage(output=_MILLION)),
        **{ability: getattr(known, ability) for ability in _ABILITIES},
    }


def _cells(row: dict[str, Any]) -> tuple[str, str, str]:
    size = f"{row['context']:,}" if row["context"] else "unknown"
    unpriced = row["input"] is None or row["output"] is None
    price = "price unknown" if unpriced else f"{row['input']:g} / {row['output']:g}"
    named = [name if row[name] else f"{name}?" for name in _ABILITIES if row[name] is not False]
    can = "unknown" if all(row[name] is None for name in _ABILITIES) else ", ".join(named) or "nothing of it"
    return size, price, can
