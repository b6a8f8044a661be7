"""Puts a session together from settings: store, provider, tools, workspace and the rules that hold in it."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from marvin_server.agent.calls import CallRunner
from marvin_server.agent.gate import Gate
from marvin_server.agent.judge import Judge
from marvin_server.agent.loop import Agent, Inputs, Limits
from marvin_server.agent.permissions import Permissions, Policy
from marvin_server.agent.prompt import system_prompt
from marvin_server.agent.recovery import Recovery
from marvin_server.events import Event
from marvin_server.providers import vendors
from marvin_server.providers.selection import Choice, names
from marvin_server.session.ledger import Ledger
from marvin_server.session.session import Session
from marvin_server.session.store import SessionRecord, Store
from marvin_server.session.toolbox import SessionToolbox
from marvin_server.session.trust import Acceptances, Trust
from marvin_server.session.usage import Tally
from marvin_server.settings import Settings
from marvin_server.tools.base import ToolContext, ToolOutput
from marvin_server.tools.registry import PreparedCall, Registry
from marvin_server.workspace.confine import Root
from marvin_server.workspace.process import Processes
from marvin_server.workspace.sandbox_session import Access, SessionSandbox
from marvin_server.workspace.workspace import Workspace

if TYPE_CHECKING:
    from marvin_server.agent.rules import Rules
    from marvin_server.session.step_recorder import StepRecorder
    from marvin_server.session.undo import Undo


class OpenSession(Struct, frozen=True):
    """A session with what its front-end has to know and to end: the processes that it started, and what it used.
    ``warnings`` are lines for the person about tools and rules that were left out."""

    session: Session
    processes: Processes
    tally: Tally
    registry: Registry
    sandbox: SessionSandbox | None
    warnings: tuple[str, ...] = ()


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
    ledger = Ledger(settings, store, record.id, choice, Tally(store.usage(record.id) if resume is not None else ()))
    ledger.check()
    registry = Registry.load(settings.paths.cache, settings.paths.tools)
    rules = _rules(settings, registry)
    readonly = settings.readonly or settings.mode == "plan"
    workspace = Workspace(Root(directory, guard=rules.guard if rules else None))
    processes = Processes()
    sandbox = _sandbox(settings, workspace)
    toolbox = SessionToolbox(registry, ledger.tally, settings.tools, store, record.cwd, readonly=readonly)
    context = ToolContext(
        workspace=workspace,
        session=toolbox,
        processes=processes,
        environ=settings.child_environ(),
        emit=lambda _: None,
        sandbox=sandbox,
        checks=settings.checks,
        web_allow=settings.web_allow,
    )
    judge = Judge(Policy(settings.approve, readonly, settings.mode), rules, _began(record))
    permissions = Permissions()
    trust = Trust(
        workspace,
        Acceptances(settings.paths.trust(settings.profile)),
        permissions,
        trusting=settings.trust,
        can_be_asked=settings.approve is None,
    )
    redact = settings.redactor()

    async def before_turn(emit: Callable[[Event], None]) -> bool:
        goes_on = await trust.settle(emit)
        toolbox.switch_on(trust.settings.tools)
        return goes_on

    @cache
    def recorder() -> "StepRecorder":
        from marvin_server.session.step_recorder import StepRecorder
        from marvin_server.session.undo import checkpoints_of

        return StepRecorder(registry.execute, store.steps, record.id, partial(checkpoints_of, settings))

    async def execute(prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        if prepared.entry.effect == "read":
            return await registry.execute(prepared, context)
        return await recorder().run(prepared, context, session.turn_id or "", emit)

    def undo() -> "Undo":
        from marvin_server.session.undo import Undo, checkpoints_of

        return Undo(store.steps, partial(checkpoints_of, settings))

    def agent() -> Agent:
        inputs = Inputs(
            lambda: system_prompt(
                working_dir=str(workspace.directory),
                other_toolsets=toolbox.others(),
                readonly=readonly,
                schema=output_schema,
                project=[(file.path, file.text) for file in trust.instructions],
            ),
            toolbox.specs,
            session.take_steering,
            ledger.abilities,
            output_schema,
            settings.thinking or trust.settings.thinking,
        )
        most = settings.max_rounds or rounds
        limits = Limits(min(most, trust.settings.max_rounds or most), ledger.is_spent)
        recovery = Recovery(provider, ledger.ways)
        runner = CallRunner(registry, context, Gate(registry, execute, judge, permissions), redact)
        return Agent(recovery, runner, inputs, limits, ledger.book)

    session = Session(
        store,
        record.id,
        history,
        permissions,
        agent,
        provider=provider.name,
        model=provider.model,
        before_turn=before_turn,
        undo=undo,
    )
    warnings = (
        *registry.warnings,
        *(rules.warnings if rules else ()),
        *_oddities(settings, registry, record, directory),
    )
    return OpenSession(session, processes, ledger.tally, registry, sandbox, warnings)


def _oddities(settings: Settings, registry: Registry, record: SessionRecord, directory: Path) -> Iterator[str]:
    """What the person may not have meant."""
    known = {"core", "all", *registry.toolsets()}
    for name in settings.tools:
        if name not in known:
            yield f"there is no toolset called {name}; known: {', '.join(sorted(known))}"
    for name in settings.fallback or ():
        if name not in names(settings):
            yield f"fallback: there is no provider called {name}; it is passed over"
    if record.cwd != str(directory):
        yield f"this session began in {record.cwd}; it goes on in {directory}"


def _sandbox(settings: Settings, workspace: Workspace) -> SessionSandbox | None:
    """The sandbox for the session's commands: with network where a person, or a rule of theirs, approves each."""
    if settings.sandbox == "off":
        return None
    paths, network = settings.paths, settings.sandbox_network
    access = Access(
        root=lambda: workspace.root.path,
        more_roots=settings.sandbox_roots,
        secrets=lambda: (paths.config, paths.data, paths.state, *vendors.key_files(settings)),
        network=settings.approve != "all" if network is None else network,
    )
    return SessionSandbox(access, settings.environ, paths.cache / "sandbox", required=settings.sandbox == "on")


def _rules(settings: Settings, registry: Registry) -> "Rules | None":
    """The person's rules, None when there are none."""
    if not settings.permissions:
        return None
    from marvin_server.agent.rules import Rules

    return Rules(settings.permissions, registry.entries)


def _began(record: SessionRecord) -> float:
    """When the session began, in seconds since the epoch; a second earlier, as clocks of file systems are coarse."""
    return datetime.fromisoformat(record.created_at).timestamp() - 1
