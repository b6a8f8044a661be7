"""What the next request of a session would hold, block by block, with its tokens and its price."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server import tokens
from marvin_server.agent.budget import message_tokens, tool_tokens
from marvin_server.events import Event
from marvin_server.messages import Usage

if TYPE_CHECKING:
    from marvin_server.session.context import Blocks
    from marvin_server.session.opening import OpenSession

_WIDEST = 48


class Line(Struct, frozen=True):
    """A block; ``kind`` is that of ``prompt.Block``, ``tools`` or ``conversation``. One that was dropped ``is_sent`` no
    more, and the rest says what it would take. ``cost`` is in USD, ``cached_cost`` that of a request which finds the
    block in the vendor's cache; None: unknown."""

    name: str
    kind: str
    tokens: int
    cost: float | None = None
    cached_cost: float | None = None
    can_drop: bool = False
    is_sent: bool = True


class Report(Struct, frozen=True):
    """``context_size`` is what the model reads, in tokens, None where unknown; the sums are over what is sent."""

    provider: str
    model: str
    lines: tuple[Line, ...]
    tokens: int
    context_size: int | None = None
    cost: float | None = None
    cached_cost: float | None = None


async def report(opened: "OpenSession", emit: Callable[[Event], None]) -> Report:
    """The report of a session as its next turn would begin. Nobody is asked anything: what a project's files would add
    and nobody has accepted is not in it, and ``emit`` gets a notice that says so. Raises ``StoreError``."""
    blocks = await opened.context.look(emit) if opened.session.running is None else opened.context.blocks()
    lines = [*_prompt(opened, blocks), *_tools(opened), *await asyncio.to_thread(_conversation, opened)]
    whole = sum(line.tokens for line in lines if line.is_sent)
    price, cached = await asyncio.to_thread(_prices, opened, whole)
    provider = opened.ledger.provider
    facts = await opened.ledger.abilities(provider)
    priced = tuple(_priced(line, whole, price, cached) for line in lines)
    return Report(provider.name, provider.model, priced, whole, facts.context, price, cached)


def shown(of: Report) -> list[str]:
    """The report as lines for a person."""
    rows = [("block", "tokens", "USD", "cached"), *map(_row, of.lines)]
    if of.cost is None:
        rows = [row[:2] for row in rows]
    elif of.cached_cost is None:
        rows = [row[:3] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    share = f" of {of.context_size:,} ({of.tokens / of.context_size:.1%})" if of.context_size else ""
    price = "price unknown" if of.cost is None else f"${of.cost:.4f} a request"
    cached = f", ${of.cached_cost:.4f} when all of it is cached" if of.cached_cost is not None else ""
    return [*table, f"{of.tokens:,} tokens{share} for {of.model} ({of.provider}), {price}{cached}"]


def _prompt(opened: "OpenSession", blocks: "Blocks") -> Iterator[Line]:
    corrected = opened.compactor.budget.corrected
    for block, is_sent in blocks:
        count = corrected(tokens.estimate(block.text))
        yield Line(block.name, block.kind, count, can_drop=block.can_drop, is_sent=is_sent)


def _tools(opened: "OpenSession") -> Iterator[Line]:
    """A line for each toolset."""
    entries = opened.registry.entries
    for toolset, specs in groupby(opened.toolbox.specs(), lambda spec: entries[spec.name].toolset):
        yield Line(f"tools: {toolset}", "tools", opened.compactor.budget.corrected(tool_tokens(tuple(specs))))


def _conversation(opened: "OpenSession") -> Sequence[Line]:
    messages = opened.context.conversation()
    count = opened.compactor.budget.corrected(sum(map(message_tokens, messages)))
    return [Line(f"conversation: {len(messages)} messages", "conversation", count)] if messages else []


def _prices(opened: "OpenSession", whole: int) -> tuple[float | None, float | None]:
    price = opened.ledger.price(Usage(whole))
    cached = opened.ledger.price(Usage(whole, cache_read=whole))
    return price, None if cached == price else cached


def _priced(line: Line, whole: int, price: float | None, cached: float | None) -> Line:
    """The line with its share of the prices."""
    part = line.tokens / whole if whole else 0.0
    costs = [None if each is None else each * part for each in (price, cached)]
    return Line(line.name, line.kind, line.tokens, costs[0], costs[1], line.can_drop, line.is_sent)


def _row(line: Line) -> tuple[str, str, str, str]:
    name = line.name if len(line.name) <= _WIDEST else f"…{line.name[1 - _WIDEST :]}"
    mark = " (dropped)" if not line.is_sent else " (pinned)" if line.kind == "pin" and line.can_drop else ""
    costs = ["" if each is None else f"{each:.5f}" for each in (line.cost, line.cached_cost)]
    return f"{name}{mark}", f"{line.tokens:,}", costs[0], costs[1]
