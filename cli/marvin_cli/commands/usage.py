"""Show what model requests have used, and what they cost: by model, vendor, session, day, week or month."""

import argparse
import csv
import io
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from textwrap import fill
from typing import get_args

from msgspec import to_builtins

from marvin_cli.commands import show, show_json, table, tell_damage
from marvin_server.errors import UsageError
from marvin_server.sanitise import one_line
from marvin_server.session.spending import By, Share
from marvin_server.session.store import Store
from marvin_server.session.usage import Used
from marvin_server.settings import Settings, Span

_COLUMNS = ("requests", "input", "output", "cache_read", "cache_write", "cost", "unpriced", "saved")
_UNKNOWN = "?: some requests have no known price; name it under `models` in config.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", choices=get_args(By), default="model", help="what each line is about (default: model)")
    parser.add_argument("--since", metavar="DATE", type=_day, help="from this day on, such as 2026-11-21")
    parser.add_argument("--csv", action="store_true", help="print CSV")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.json and arguments.csv:
        raise UsageError("--json and --csv are two forms: give one of them")
    shares, total, standing = _read(arguments.by, arguments.since or "", settings)
    if arguments.json:
        rows = [to_builtins(share) for share in shares]
        show_json({"by": arguments.by, "since": arguments.since, "rows": rows, "total": to_builtins(total)})
    elif arguments.csv:
        show(_csv(arguments.by, shares))
    elif not shares:
        show(f"No model request since {arguments.since}." if arguments.since else "No model request so far.")
    else:
        notes = [f"Total: {total}", *standing, *([_UNKNOWN] if total.unpriced else [])]
        if sys.stdout.isatty():
            notes = [fill(note, shutil.get_terminal_size().columns) for note in notes]
        show("\n".join([_lines(arguments.by, shares, settings.environ), "", *notes]))
    return 0


def _read(by: By, since: str, settings: Settings) -> tuple[list[Share], Used, list[str]]:
    """The parts, their sum, and lines on the caps for days and months."""
    path = settings.paths.database(settings.profile)
    if not path.exists():
        return [], Used(), []
    from marvin_server.session import caps

    store = Store.open(path)
    spending = store.spending
    limits: dict[Span, float] = {span: usd for span, usd in settings.budget.items() if span != "session"}
    standing = [f"Budget: {cap.standing}" for cap in caps.standing(limits, spending, Used())]
    shares, total = spending.shares(by, since), spending.since(since)
    tell_damage(store)
    return shares, total, standing


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-11-21") from None


def _csv(by: By, shares: Sequence[Share]) -> str:
    """A line for each share, without titles. A name that a spreadsheet would take for a formula begins with a quote."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((by, *_COLUMNS))
    for share in shares:
        used = share.usage
        name = f"'{share.name}" if share.name[:1] in "=+-@\t\r" else share.name
        tokens = (used.input, used.output, used.cache_read, used.cache_write)
        writer.writerow((name, share.requests, *tokens, share.cost, share.unpriced, share.saved))
    return text.getvalue().rstrip("\n")


def _lines(by: By, shares: Sequence[Share], environ: Mapping[str, str]) -> str:
    """A line for each share: a chart on a terminal that can show one, else digits alone."""
    if sys.stdout.isatty():
        from marvin_cli.view.signs import encoding

        if "utf" in encoding(environ).lower():
            return _chart(by, shares, shutil.get_terminal_size().columns)
    heads = (by.upper(), "REQUESTS", "TOKENS IN", "CACHED", "OUT", "USD")
    return table([heads, *((_name(by, share), *_digits(share), _cost(share)) for share in shares)])


def _chart(by: By, shares: Sequence[Share], columns: int) -> str:
    from marvin_cli.bars import Amount, chart

    # Where nothing has a price, the tokens are compared.
    are_priced = any(share.cost for share in shares)
    amounts = [
        Amount(
            _name(by, share),
            share.cost if are_priced else share.usage.input + share.usage.output,
            (f"{share.requests:,}", f"{share.usage.input:,}", f"{share.usage.output:,}", _cost(share)),
        )
        for share in shares
    ]
    return chart(by.upper(), ("REQUESTS", "TOKENS IN", "OUT", "USD"), amounts, columns)


def _name(by: By, share: Share) -> str:
    """What the line is about; a session by its title, where a person reads it."""
    if by != "session":
        return one_line(share.name)
    if not share.name:
        return "(no session)"
    return one_line(share.title) or "(untitled)" if sys.stdout.isatty() else share.name


def _digits(share: Share) -> tuple[str, ...]:
    used = share.usage
    return tuple(f"{number:,}" for number in (share.requests, used.input, used.cache_read, used.output))


def _cost(share: Share) -> str:
    if share.unpriced and share.unpriced == share.requests:
        return "?"
    return f"{share.cost:,.4f}{' + ?' if share.unpriced else ''}"
