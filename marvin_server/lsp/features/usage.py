"""``marvin/usage/get``: tokens, money and how full the model's context is."""

import asyncio
from typing import TYPE_CHECKING, Any

from marvin_server.protocol.reading import read
from marvin_server.protocol.status import UsageGetParams, UsageGetResult
from marvin_server.session.usage import Tally

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server

_RECENT = 8


async def get(server: "Server", params: dict[str, Any]) -> UsageGetResult:
    """What the session has used so far, in all processes."""
    from marvin_server.providers import selection
    from marvin_server.session import models

    record = server.sessions.record(read(params, UsageGetParams).session_id)
    live = server.sessions.find(record.id)
    settings = live.settings if live else server.sessions.settings
    choice = live.choice if live and live.choice else await asyncio.to_thread(selection.choose, settings)
    facts = await asyncio.to_thread(models.facts, settings, choice, choice.provider.model)
    store = server.sessions.store
    tally = Tally(store.usage(record.id))
    latest = (entry.message.usage for entry in reversed(store.catalogue.page(record.id, _RECENT)))
    last = next((usage for usage in latest if usage is not None), None)
    unpriced = any(row.unpriced for row in tally.rows)
    return UsageGetResult(
        tally.usage, last.input + last.output if last else 0, facts.context, None if unpriced else tally.cost
    )
