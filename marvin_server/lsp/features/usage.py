"""``marvin/usage/get``: tokens, money and how full the model's context is."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.protocol.reading import read
from marvin_server.protocol.status import UsageGetParams, UsageGetResult
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.providers.selection import Choice

_RECENT = 8


async def get(server: "Server", params: dict[str, Any]) -> UsageGetResult:
    """What the session has used so far, in all processes."""
    record = server.sessions.record(read(params, UsageGetParams).session_id)
    live = server.sessions.find(record.id)
    settings = live.settings if live else server.sessions.settings
    size = await asyncio.to_thread(_context_size, settings, live.choice if live else None)
    store = server.sessions.store
    tally = Tally(store.usage(record.id))
    latest = (entry.message.usage for entry in reversed(store.catalogue.page(record.id, _RECENT)))
    last = next((usage for usage in latest if usage is not None), None)
    unpriced = any(row.unpriced for row in tally.rows)
    return UsageGetResult(tally.usage, last.input + last.output if last else 0, size, None if unpriced else tally.cost)


def _context_size(settings: Settings, choice: "Choice | None") -> int | None:
    """What the model that would answer can read, None where nobody can, or that is not known."""
    from marvin_server.providers import selection
    from marvin_server.session import models

    with suppress(MarvinError):
        choice = choice or selection.choose(settings)
        return models.facts(settings, choice, choice.provider.model).context
    return None
