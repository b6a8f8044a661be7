"""What a tool is: a ``Params`` model and one decorated async function in a file of its own."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from marvin_server.events import Command
from marvin_server.messages import Effect, Image, Status

if TYPE_CHECKING:
    from pydantic import BaseModel

    from marvin_server.edits.hunks import FileChange
    from marvin_server.workspace.documents import Document
    from marvin_server.workspace.process import Processes
    from marvin_server.workspace.repo_map.repo_map import RepoMap
    from marvin_server.workspace.sandbox_session import SessionSandbox
    from marvin_server.workspace.workspace import Workspace

P = TypeVar("P", bound="BaseModel")
_SHOWN = 100_000  # characters
# Toolsets that write files through the workspace's root and in no other way.
_WITHIN = frozenset({"files", "notes", "notebook"})


class Toolbox(Protocol):
    """What a session lets its tools know and change about the session itself."""

    def find_tools(self, query: str) -> str:
        """Switch on the toolsets that fit ``query`` and say what they offer."""
        ...

    def usage(self) -> str:
        """Tokens and money of this session, as lines for the model."""
        ...

    def skill(self, name: str, file: str | None) -> str:
        """The text of a skill, or of another file of it. Raises ``ToolError``."""
        ...

    def compact(self, focus: str) -> str:
        """Have older messages summarised before the next request, with ``focus`` kept in view; say so."""
        ...

    def search_history(self, query: str) -> list[str]:
        """Lines from the sessions of this workspace that have words beginning with all those of ``query``."""
        ...


class Applied(Struct, frozen=True):
    """``changes`` are those that were made, as they were made; ``notes`` are lines for the model on what was not."""

    changes: "tuple[FileChange, ...]"
    notes: tuple[str, ...] = ()


class Patches(Protocol):
    """Where the edits of tool calls are made: the person reviews them, before or afterwards, and can undo them."""

    async def apply(
        self, workspace: "Workspace", changes: "Sequence[FileChange]", documents: "Mapping[str, Document]"
    ) -> Applied:
        """Make ``changes``, or those of their hunks that the person wants, all or none of them.

        ``documents`` are the files as they were read, by the paths of the changes, which are relative to the root.
        Raises ``Rejected`` when the person wants none, besides what ``Workspace.change`` raises.
        """
        ...


class ToolContext(Struct, frozen=True):
    """All that a tool may use. ``emit`` shows text while the tool runs; ``environ`` is for child processes; ``patches``
    is what files are changed by.

    ``checks`` maps file name patterns to the commands that check such files, from the person's own settings.
    Commands that a model or a project has a say in run in the ``sandbox``; None is the person's wish to go without.
    ``web_allow`` names hosts that the web tools may read wherever they are. ``repo_map`` gives the workspace's map.
    """

    workspace: "Workspace"
    processes: "Processes"
    session: Toolbox
    environ: Mapping[str, str]
    emit: Callable[[str], None]
    patches: Callable[[], Patches]
    checks: Mapping[str, str] = {}
    sandbox: "SessionSandbox | None" = None
    web_allow: tuple[str, ...] = ()
    repo_map: "Callable[[], RepoMap] | None" = None


class ToolOutput(Struct, frozen=True):
    """``text`` and ``images`` are for the model, ``details`` for the screen alone."""

    text: str
    status: Status = "ok"
    exit_code: int | None = None
    images: tuple[Image, ...] = ()
    details: Mapping[str, Any] = {}


class Preview(Struct, frozen=True):
    """What a call would change: ``diff``, of bounded size, says so to a person; ``digest`` stands for all of it. It
    ``is_whole`` when the diff leaves nothing out."""

    diff: str
    digest: str
    is_whole: bool = True

    @classmethod
    def of(cls, diff: str) -> "Preview":
        """The preview of a whole diff; of more than 100,000 characters the end is cut, and a last line says so."""
        import hashlib

        digest = hashlib.sha256(diff.encode("utf-8", "surrogatepass")).hexdigest()
        if len(diff) <= _SHOWN:
            return cls(diff, digest)
        kept = diff.rfind("\n", 0, _SHOWN) + 1 or _SHOWN
        lines = diff.count("\n", kept)
        left_out = f"{len(diff) - kept:,} more characters in {lines:,} lines are not shown"
        return cls(f"{diff[:kept].rstrip(chr(10))}\n[… {left_out}]\n", digest, is_whole=False)


class ToolEntry(Struct, frozen=True):
    """A tool as the index knows it, before its module is imported.

    ``parameters`` is a JSON Schema, in which ``examples`` of fields serve error messages. ``module`` is a dotted name,
    or the path of a person's own ``.py`` file.
    """

    name: str
    toolset: str
    effect: Effect
    description: str
    parameters: Mapping[str, Any]
    module: str

    @property
    def works_on_disk(self) -> bool:
        """Whether a call works on the files on disk as programs do, and sees nothing of what is open in an editor."""
        return self.effect in {"edit", "execute"} and self.toolset not in _WITHIN


class Tool(Struct, frozen=True):
    """A loaded tool: its function and the model of its arguments.

    ``title`` puts a call into a few words for the screen; ``command`` shows exactly what a call would execute;
    ``paths`` names the files and folders that it is about. ``preview`` shows what a call would change, where possible
    as a unified diff (None where it cannot tell), and raises what the call itself would. ``by_patch``: all that a
    call changes goes through ``ToolContext.patches``.
    """

    name: str
    effect: Effect
    description: str
    params: "type[BaseModel]"
    run: "Callable[[Any, ToolContext], Awaitable[str | ToolOutput]]"
    title: Callable[[Any], str] | None = None
    command: Callable[[Any, ToolContext], Command] | None = None
    paths: Callable[[Any], Sequence[str]] | None = None
    preview: Callable[[Any, ToolContext], Awaitable[str | Preview | None]] | None = None
    by_patch: bool = False


def tool(
    *,
    effect: Effect,
    title: Callable[[P], str] | None = None,
    command: Callable[[P, ToolContext], Command] | None = None,
    paths: Callable[[P], Sequence[str]] | None = None,
    preview: Callable[[P, ToolContext], Awaitable[str | Preview | None]] | None = None,
    by_patch: bool = False,
) -> Callable[[Callable[[P, ToolContext], Awaitable[str | ToolOutput]]], Tool]:
    """Make a tool of ``async def name(params: Params, context: ToolContext) -> str | ToolOutput``.

    The function's name is the tool's, its docstring the description that the model reads, and its ``Params`` (a
    pydantic model) the arguments; a parameter called ``path`` names the file or folder that a call is about, unless
    ``paths`` names them. Without ``title`` the screen shows the name and the paths.
    """

    def decorate(run: Callable[[P, ToolContext], Awaitable[str | ToolOutput]]) -> Tool:
        params = inspect.get_annotations(run, eval_str=True)["params"]
        return Tool(
            run.__name__, effect, inspect.getdoc(run) or "", params, run, title, command, paths, preview, by_patch
        )

    return decorate
