"""``marvin/usage/get``: tokens, money and how full the model's context is."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.messages import Usage
from marvin_server.protocol.reading import read
from marvin_server.protocol.status import Cap, ModelSpent, Spent, UsageGetParams, UsageGetResult
from marvin_server.session.usage import Tally, Used
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.providers.selection import Choice

_RECENT = 8


async def get(server: "Server", params: dict[str, Any]) -> UsageGetResult:
    """What the session has used so far, in all processes, and what all of them have."""
    from marvin_server.session import caps

    record = server.sessions.record(read(params, UsageGetParams).session_id)
    live = server.sessions.find(record.id)
    settings = live.settings if live else server.sessions.settings
    size = await asyncio.to_thread(_context_size, settings, live.choice if live else None)
    store = server.sessions.store
    tally = Tally(store.spending.of_session(record.id))
    latest = (entry.message.usage for entry in reversed(store.pages.of(record.id, _RECENT)))
    last = next((usage for usage in latest if usage is not None), None)
    session = tally.total
    limits = caps.standing(settings.caps, store.spending, session)
    return UsageGetResult(
        session.usage,
        last.input + last.output if last else 0,
        size,
        session.whole_cost,
        session.requests,
        session.saved or None,
        tuple(ModelSpent(*_spent(row), provider=row.provider, model=row.model) for row in tally.rows),
        Spent(*_spent(store.spending.since())),
        tuple(Cap(cap.span, cap.usd, cap.used.cost) for cap in limits),
    )


def _spent(used: Used) -> tuple[int, Usage, float | None, float | None]:
    """What a ``Spent`` is made of."""
    return used.requests, used.usage, used.whole_cost, used.saved or None


def _context_size(settings: Settings, choice: "Choice | None") -> int | None:
    """What the model that would answer can read, None where nobody can, or that is not known."""
    from marvin_server.providers import selection
    from marvin_server.session import models

    with suppress(MarvinError):
        choice = choice or selection.choose(settings)
        return models.facts(settings, choice, choice.provider.model).context
    return None
