"""The parts of one session and how they hang together."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.agent.admission import Admission
from marvin_server.agent.calls import CallRunner
from marvin_server.agent.gate import Gate
from marvin_server.agent.judge import Judge
from marvin_server.agent.loop import Agent, Inputs, Limits
from marvin_server.agent.permissions import Permissions, Policy
from marvin_server.agent.recovery import Recovery
from marvin_server.events import Event
from marvin_server.providers import vendors
from marvin_server.providers.base import Provider
from marvin_server.providers.selection import Choice
from marvin_server.session.compacting import compactor, kept_by
from marvin_server.session.context import Context, Sources
from marvin_server.session.ledger import Ledger
from marvin_server.session.session import Session
from marvin_server.session.store import SessionRecord, Store
from marvin_server.session.toolbox import SessionToolbox
from marvin_server.session.trust import Acceptances, Trust
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
    from marvin_server.workspace.checkpoints import Checkpoints
    from marvin_server.workspace.editor import Editor
    from marvin_server.workspace.repo_map.repo_map import RepoMap


class Composition:
    """What the session ``record`` consists of; parts that most turns do without are made, and imported, when they are
    wanted. ``opening.open_session`` says what is given. Raises ``UsageError``."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        record: SessionRecord,
        ledger: Ledger,
        directory: Path,
        *,
        rounds: int,
        output_schema: Mapping[str, Any] | None,
        editor: "Editor | None",
        can_review: bool,
        coding: bool,
    ) -> None:
        self.ledger = ledger
        self.registry = Registry.load(settings.paths.cache, settings.paths.tools)
        self.rules = _rules(settings, self.registry)
        self.workspace = Workspace(Root(directory, guard=self.rules.guard if self.rules else None), editor)
        self.processes = Processes()
        self.sandbox = _sandbox(settings, self.workspace)
        self.compactor = compactor(ledger, self.registry, lambda: self.patches)
        self._settings = settings
        self._store = store
        self._record = record
        self._rounds = rounds
        self._schema = output_schema
        self._can_review = can_review
        self._coding = coding
        self._redact = settings.redactor()
        self._loop = asyncio.get_running_loop() if editor else None
        self._judge = Judge(self._policy, self.rules, _began(record))
        self._permissions = Permissions(
            cache(partial(_board, store, record.id)), lambda note: self.session.submit(note, "steer")
        )
        self._trust = Trust(
            self.workspace,
            Acceptances(settings.paths.trust(settings.profile)),
            self._permissions,
            trusting=settings.trust,
            can_be_asked=settings.approve is None,
        )
        self._backups = kept_by(self.workspace, self._redact, self._may_keep)

    @cached_property
    def session(self) -> Session:
        """The session itself."""
        return Session(
            self._store,
            self._record.id,
            self._permissions,
            self._agent,
            provider=lambda: self.ledger.provider,
            before_turn=self._before_turn,
            undo=self._undo,
            patches=lambda: self.patches,
            compactor=self.compactor,
            backups=self._backups,
        )

    @cached_property
    def context(self) -> Context:
        """What the model is told before the conversation."""
        sources = Sources(self.workspace, self._trust, self.toolbox, self._is_readonly, self._redact, self._schema)
        return Context(self._settings, self._store, self._record.id, sources, coding=self._coding)

    @cached_property
    def toolbox(self) -> SessionToolbox:
        """What its tools know and change about the session."""
        return SessionToolbox(
            self.registry,
            self._record.id,
            self._settings.tools,
            self._store,
            self._record.cwd,
            readonly=self._is_readonly,
            skills=lambda: self.context.skills,
            compact=self.compactor.want,
        )

    @cached_property
    def patches(self) -> "Patches":
        """The changes of files that its turns made or want to make."""
        from marvin_server.session.kept_patches import KeptPatches
        from marvin_server.session.patches import Patches

        kept = KeptPatches(self._store, self._record.id, partial(_at, self.workspace), self._checkpoints())
        redact = str if self._can_review else self._redact
        return Patches(kept, lambda: self._policy().reviews, redact, can_review=self._can_review)

    def go_on_with(self, changed: Settings, answering: Choice | None) -> None:
        """Let other settings hold, and another choice answer; see ``OpenSession``."""
        self._settings = changed
        if answering is not None:
            self.ledger.go_on_with(changed, answering)
        if changed.mode == "plan":
            self._permissions.deny_all("mode plan")
            self.patches.reject_reviews("mode plan")

    def _is_readonly(self) -> bool:
        return self._settings.readonly or self._settings.mode == "plan"

    def _may_keep(self) -> bool:
        """Whether files of the workspace may hold what was said; of an ephemeral session nothing outlives it."""
        wanted = self._settings.history_backups and not self._is_readonly()
        return wanted and self._record.id not in self._store.catalogue.ephemeral()

    def _policy(self) -> Policy:
        settings = self._settings
        return Policy(settings.approve, settings.readonly, settings.mode, self._can_review)

    async def _before_turn(self, emit: Callable[[Event], None]) -> bool:
        goes_on = await self.context.settle(emit)
        if goes_on and self._settings.repo_map:
            prompt = (await asyncio.to_thread(self.context.conversation))[-1].text
            self.context.repo_map = await self._repo_map.block(prompt, self._settings.repo_map)
        self.toolbox.switch_on(self._trust.counting.settings.tools)
        return goes_on

    def _agent(self, provider: Provider) -> Agent:
        settings, project = self._settings, self._trust.counting.settings
        inputs = Inputs(
            lambda: self.context.prompt,
            self.toolbox.specs,
            self.session.take_steering,
            self.ledger.abilities,
            self._schema,
            settings.thinking or project.thinking,
        )
        most = settings.max_rounds or self._rounds
        limits = Limits(min(most, project.max_rounds or most), self.ledger.spent, self.ledger.nearly_spent)
        gate = Gate(self.registry, self._execute, self._judge, self._permissions)
        admit = Admission(self.compactor.budget, lambda name, text: self._backups().dump(name, text))
        runner = CallRunner(self.registry, self._tool_context, gate, self._redact, admit)
        recovery = Recovery(provider, self.ledger.ways)
        return Agent(recovery, runner, inputs, limits, self.ledger.book, compactor=self.compactor)

    @cached_property
    def _tool_context(self) -> ToolContext:
        settings = self._settings
        return ToolContext(
            workspace=self.workspace,
            patches=lambda: self.patches,
            session=self.toolbox,
            processes=self.processes,
            environ=settings.child_environ(),
            emit=lambda _: None,
            sandbox=self.sandbox,
            checks=settings.checks,
            web_allow=settings.web_allow,
            repo_map=lambda: self._repo_map,
        )

    async def _execute(self, prepared: PreparedCall, context: ToolContext, emit: Callable[[Event], None]) -> ToolOutput:
        if prepared.entry.effect == "read":
            return await self.registry.execute(prepared, context)
        return await self._recorder.run(prepared, context, self.session.running or "", emit)

    @cached_property
    def _recorder(self) -> "StepRecorder":
        from marvin_server.session.step_recorder import StepRecorder

        steps = self._store.steps
        return StepRecorder(self.registry.execute, steps, self._record.id, self._checkpoints(), self.patches)

    @cached_property
    def _repo_map(self) -> "RepoMap":
        from marvin_server.workspace.repo_map.repo_map import RepoMap

        repo_map = RepoMap(self.workspace, self._settings.paths.maps)
        self.session.at_end(repo_map.close)
        return repo_map

    def _undo(self) -> "Undo":
        from marvin_server.session.undo import Undo

        return Undo(self._store.steps, self._checkpoints(), self.workspace.open_files, self._loop)

    def _checkpoints(self) -> "Callable[[Path], Checkpoints]":
        from marvin_server.session.undo import checkpoints_of

        return partial(checkpoints_of, self._settings)


def _board(store: Store, session_id: str) -> "Board":
    from marvin_server.session.questions import Board

    return Board(store.questions, session_id, store.changes)


def _at(workspace: Workspace, root: Path) -> Workspace:
    """The workspace with this root, as the session's may be another by now."""
    return workspace if workspace.root.path == root else Workspace(Root(root), workspace.editor)


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
    """When the session began, in seconds since the epoch; a second earlier, as clocks of file systems are coarse. Where
    that cannot be told, it began before everything."""
    try:
        return datetime.fromisoformat(record.created_at).timestamp() - 1
    except ValueError:
        return 0.0
