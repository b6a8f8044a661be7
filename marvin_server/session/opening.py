"""Puts a session together from settings: store, provider, tools, workspace and the rules that hold in it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from marvin_server.agent.calls import CallRunner
from marvin_server.agent.loop import Agent, Inputs, Limits
from marvin_server.agent.permissions import Permissions, Policy
from marvin_server.agent.prompt import system_prompt
from marvin_server.agent.recovery import Larger, Recovery, Ways
from marvin_server.messages import Charge, Message, Usage
from marvin_server.providers.base import Provider
from marvin_server.providers.selection import Choice, fallbacks
from marvin_server.session import models
from marvin_server.session.models import ModelFacts
from marvin_server.session.session import Session
from marvin_server.session.store import Store
from marvin_server.session.toolbox import SessionToolbox
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings
from marvin_server.tools.base import ToolContext
from marvin_server.tools.registry import Registry
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes
from marvin_server.workspace.workspace import Workspace


class OpenSession(Struct, frozen=True):
    """A session with what its front-end has to know and to end: the processes that it started, and what it used."""

    session: Session
    processes: Processes
    tally: Tally
    registry: Registry


def open_session(
    settings: Settings,
    choice: Choice,
    store: Store,
    directory: Path,
    *,
    rounds: int,
    resume: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> OpenSession:
    """A session in ``directory``: a new one, or the one whose id is ``resume``.

    ``rounds`` is the limit where the settings have none. Raises ``StoreError`` and ``UsageError``.
    """
    provider = choice.provider
    record = (
        store.find(resume)
        if resume is not None
        else store.create_session(str(directory), provider.name, provider.model)
    )
    store.own(record.id)
    history = store.history(record.id) if resume is not None else []
    before = Tally(store.usage(record.id) if resume is not None else ())
    registry = Registry.load(settings.paths.cache, settings.paths.tools)
    workspace = Workspace(Root(directory))
    processes = Processes()
    tally = Tally()
    toolbox = SessionToolbox(registry, tally, settings.tools, readonly=settings.readonly)
    context = ToolContext(
        workspace=workspace,
        session=toolbox,
        processes=processes,
        environ=settings.child_environ(),
        emit=lambda _: None,
    )
    policy = Policy(settings.approve, readonly=settings.readonly)
    permissions = Permissions()
    redact = settings.redactor()

    choices = {(provider.name, provider.model): choice}

    def going_on(made: Choice) -> Provider:
        """The provider to go on with: one that was made before serves again. Raises as ``check_price`` does."""
        models.check_price(settings, made)
        return choices.setdefault((made.provider.name, made.provider.model), made).provider

    def larger(asked: Provider) -> Larger | None:
        found = models.larger(settings, choices[asked.name, asked.model])
        return found and Larger(going_on(found), models.facts(settings, found, found.provider.model).context)

    ways = Ways(lambda: [lambda make=make: going_on(make()) for make in fallbacks(settings)], larger)

    async def account(asked: Provider, message: Message) -> Charge:
        made = choices[asked.name, asked.model]
        model, usage = message.model or asked.model, (message.usage or Usage()).plausible
        charge = Charge(0.0 if made.free else None)
        if message.usage is not None:
            charge = await asyncio.to_thread(models.charge, settings, made, usage, model, asked.model)
        tally.add(asked.name, model, usage, charge)
        store.record_usage(record.id, asked.name, model, usage, charge)
        return charge

    async def abilities(asked: Provider) -> ModelFacts:
        return await asyncio.to_thread(models.facts, settings, choices[asked.name, asked.model], asked.model)

    def spent() -> bool:
        limit = settings.max_cost
        unpriced = any(row.unpriced for row in (*before.rows, *tally.rows))
        return limit is not None and (unpriced or before.cost + tally.cost >= limit)

    def agent() -> Agent:
        inputs = Inputs(
            lambda: system_prompt(
                working_dir=str(workspace.directory),
                other_toolsets=toolbox.others(),
                readonly=settings.readonly,
                schema=output_schema,
            ),
            toolbox.specs,
            session.take_steering,
            abilities,
            output_schema,
            settings.thinking,
        )
        limits = Limits(settings.max_rounds or rounds, spent)
        recovery = Recovery(provider, ways)
        runner = CallRunner(registry, context, policy, permissions, redact)
        return Agent(recovery, runner, inputs, limits, account)

    session = Session(store, record.id, history, permissions, agent, provider=provider.name, model=provider.model)
    return OpenSession(session, processes, tally, registry)
