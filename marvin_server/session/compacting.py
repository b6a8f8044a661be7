"""What a session makes its conversation smaller with: who writes summaries, what is put back, what is kept in files."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from marvin_server.agent.budget import Budget
from marvin_server.agent.compactor import Compactor
from marvin_server.messages import Message
from marvin_server.providers.base import ModelRequest
from marvin_server.providers.selection import OFFLINE
from marvin_server.session.ledger import Ledger
from marvin_server.tools.registry import Registry
from marvin_server.workspace.workspace import Workspace

if TYPE_CHECKING:
    from marvin_server.session.backups import Backups
    from marvin_server.session.patches import Patches

_ROOM = 2  # of what the model reads, a transcript may take one part in so many


def compactor(ledger: Ledger, registry: Registry, patches: "Callable[[], Patches]") -> Compactor:
    """The compactor of a session that has the models of ``ledger``, the tools of ``registry`` and these patches."""

    budget = Budget()

    async def ask(build: Callable[[int], ModelRequest]) -> Message | None:
        if ledger.provider.name == OFFLINE:
            return None
        small = await asyncio.to_thread(ledger.small)
        asked = small.provider if small else ledger.provider
        facts = await ledger.abilities(asked)
        window = budget.window_of(asked.model, facts.context, facts.output)
        return await ledger.ask(build(window.usable // _ROOM), small)

    def edits() -> Sequence[str]:
        return [name for name, entry in registry.entries.items() if entry.effect == "edit"]

    return Compactor(budget, ask, edits, lambda: list(_waiting(patches())))


def kept_by(workspace: Workspace, redact: Callable[[str], str], allowed: Callable[[], bool]) -> "Callable[[], Backups]":
    """What gives the backups of a session, made when they are first asked for; see ``Backups``."""

    @cache
    def backups() -> "Backups":
        from marvin_server.session.backups import Backups

        return Backups(workspace, redact, allowed)

    return backups


def _waiting(patches: "Patches") -> Iterator[str]:
    """A line for each patch that waits for the person's review."""
    for patch in patches.pending:
        yield f"the person's review of your changes to {', '.join(edit.path for edit in patch.edits)}"
