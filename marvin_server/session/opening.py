"""Puts a session together from settings: store, provider, tools, workspace and the rules that hold in it."""

import asyncio
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
from marvin_server.providers.base import Provider
from marvin_server.providers.selection import Choice, names
from marvin_server.sanitise import one_line
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
    from marvin_server.session.patches import Patches
    from marvin_server.session.questions import Board
    from marvin_server.session.step_recorder import StepRecorder
    from marvin_server.session.undo import Undo
    from marvin_server.workspace.editor import Editor


class OpenSession(Struct, frozen=True):
    """A session with what its front-end has to know and to end: the processes that it started, and its models.

    ``go_on_with`` lets other settings hold: ``mode`` from the next tool call on, ``thinking`` from the next turn on,
    nothing else of them; and the choice, where one is given, answers from the next turn on. With mode plan, open
    questions are denied, and nothing is made of a patch that waits for its review.
    ``warnings`` are lines for the person about tools and rules that were left out.
    """

    session: Session
    processes: Processes
    ledger: Ledger
    registry: Registry
    sandbox: SessionSandbox | None
    go_on_with: Callable[[Settings, Choice | None], None]
    warnings: tuple[str, ...] = ()

    @property
    def tally(self) -> Tally:
        """What this run of the session has used."""
        return self.ledger.tally


def open_session(
    settings: Settings,
    choice: Choice,
    store: Store,
    directory: Path,
    *,
    rounds: int,
    resume: str | None = None,
    output_schema: Mapping[str, Any] | None = None,
    editor: "Editor | None" = None,
    can_review: bool = False,
    person: Callable[[], str] = str,
) -> OpenSession:
    """A session in ``directory``: a new one, or the one whose id is ``resume``.

    ``rounds`` is the limit where the settings have none. ``editor`` has open files, whose texts count more than those
    on disk; with one, call this in the event loop. ``can_review``: somebody can answer for each hunk of a patch, by
    ``Session.resolve``; without that, mode review asks about each edit as a whole. ``person`` gives what the model is
    told of the person. Raises ``StoreError`` and ``UsageError``.
    """
    record = (
        store.find(resume)
        if resume is not None
        else store.create_session(str(directory), choice.provider.name, choice.provider.model)
    )
    ledger = Ledger(settings, store, record.id, choice)
    ledger.check()
    registry = Registry.load(settings.paths.cache, settings.paths.tools)
    rules = _rules(settings, registry)

    workspace = Workspace(Root(directory, guard=rules.guard if rules else None), editor)
    processes = Processes()

    def readonly() -> bool:
        return settings.readonly or settings.mode == "plan"

    sandbox = _sandbox(settings, workspace)
    toolbox = SessionToolbox(registry, ledger.tally, settings.tools, store, record.cwd, readonly=readonly)
    redact = settings.redactor()

    @cache
    def patches() -> "Patches":
        from marvin_server.session.kept_patches import KeptPatches
        from marvin_server.session.patches import Patches
        from marvin_server.session.undo import checkpoints_of

        kept = KeptPatches(store, record.id, partial(_at, workspace), partial(checkpoints_of, settings))
        return Patches(kept, lambda: judge.policy().reviews, str if can_review else redact, can_review=can_review)

    context = ToolContext(
        workspace=workspace,
        patches=patches,
        session=toolbox,
        processes=processes,
        environ=settings.child_environ(),
        emit=lambda _: None,
        sandbox=sandbox,
        checks=settings.checks,
        web_allow=settings.web_allow,
    )
    judge = Judge(lambda: Policy(settings.approve, settings.readonly, settings.mode, can_review), rules, _began(record))

    permissions = Permissions(cache(partial(_board, store, record.id)), lambda note: session.submit(note, "steer"))
    trust = Trust(
        workspace,
        Acceptances(settings.paths.trust(settings.profile)),
        permissions,
        trusting=settings.trust,
        can_be_asked=settings.approve is None,
    )

    def go_on_with(changed: Settings, answering: Choice | None) -> None:
        nonlocal settings
        settings = changed
        if answering is not None:
            ledger.go_on_with(changed, answering)
        if changed.mode == "plan":
            permissions.deny_all("mode plan")
            patches().reject_reviews("mode plan")

    async def before_turn(emit: Callable[[Event], None]) -> bool:
        goes_on = await trust.settle(emit)
        toolbox.switch_on(trust.settings.tools)
        return goes_on

    @cache
    def recorder() -> "StepRecorder":
        from marvin_server.session.step_recorder import StepRecorder
        from marvin_server.session.undo import checkpoints_of

        return StepRecorder(registry.execute, store.steps, record.id, partial(checkpoints_of, settings), patches())

    async def execute(prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        if prepared.entry.effect == "read":
            return await registry.execute(prepared, context)
        return await recorder().run(prepared, context, session.running or "", emit)

    loop = asyncio.get_running_loop() if editor else None

    def undo() -> "Undo":
        from marvin_server.session.undo import Undo, checkpoints_of

        return Undo(store.steps, partial(checkpoints_of, settings), workspace.open_files, loop)

    def agent(provider: Provider) -> Agent:
        inputs = Inputs(
            lambda: system_prompt(
                working_dir=str(workspace.directory),
                other_toolsets=toolbox.others(),
                readonly=readonly(),
                schema=output_schema,
                project=[(file.path, file.text) for file in trust.instructions],
                person=person(),
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
        permissions,
        agent,
        provider=lambda: ledger.provider,
        before_turn=before_turn,
        undo=undo,
        patches=patches,
    )
    warnings = (
        *registry.warnings,
        *(rules.warnings if rules else ()),
        *_oddities(settings, registry, record, directory),
        *(_left_behind(store, record) if resume is not None else ()),
    )
    return OpenSession(session, processes, ledger, registry, sandbox, go_on_with, warnings)


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


def _board(store: Store, session_id: str) -> "Board":
    from marvin_server.session.questions import Board

    return Board(store.questions, session_id, store.changes)


def _at(workspace: Workspace, root: Path) -> Workspace:
    """The workspace with this root, as the session's may be another by now."""
    return workspace if workspace.root.path == root else Workspace(Root(root), workspace.editor)


def _left_behind(store: Store, record: SessionRecord) -> Iterator[str]:
    """The prompts that waited for their turn when their process ended."""
    for draft in store.drafts.left(record.id):
        yield f"this was queued and never started: {one_line(draft.message.text, 80)!r} (marvin sessions drafts)"


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
