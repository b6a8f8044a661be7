"""What a tool is: a ``Params`` model and one decorated async function in a file of its own."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from marvin_server.events import Command
from marvin_server.messages import Effect, Image, Status

if TYPE_CHECKING:
    from pydantic import BaseModel

    from marvin_server.workspace.process import Processes
    from marvin_server.workspace.workspace import Workspace

P = TypeVar("P", bound="BaseModel")


class Toolbox(Protocol):
    """What a session lets its tools know and change about the session itself."""

    def find_tools(self, query: str) -> str:
        """Switch on the toolsets that fit ``query`` and say what they offer."""
        ...

    def usage(self) -> str:
        """Tokens and money of this session, as lines for the model."""
        ...


class ToolContext(Struct, frozen=True):
    """All that a tool may use. ``emit`` shows text while the tool runs; ``environ`` is for child processes."""

    workspace: "Workspace"
    processes: "Processes"
    session: Toolbox
    environ: Mapping[str, str]
    emit: Callable[[str], None]


class ToolOutput(Struct, frozen=True):
    """``text`` and ``images`` are for the model, ``details`` for the screen alone."""

    text: str
    status: Status = "ok"
    exit_code: int | None = None
    images: tuple[Image, ...] = ()
    details: Mapping[str, Any] = {}


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


class Tool(Struct, frozen=True):
    """A loaded tool: its function and the model of its arguments.

    ``title`` puts a call into a few words for the screen; ``command`` shows exactly what a call would execute.
    """

    name: str
    effect: Effect
    description: str
    params: "type[BaseModel]"
    run: "Callable[[Any, ToolContext], Awaitable[str | ToolOutput]]"
    title: Callable[[Any], str] | None = None
    command: Callable[[Any, ToolContext], Command] | None = None


def tool(
    *,
    effect: Effect,
    title: Callable[[P], str] | None = None,
    command: Callable[[P, ToolContext], Command] | None = None,
) -> Callable[[Callable[[P, ToolContext], Awaitable[str | ToolOutput]]], Tool]:
    """Make a tool of ``async def name(params: Params, context: ToolContext) -> str | ToolOutput``.

    The function's name is the tool's, its docstring the description that the model reads, and its ``Params`` (a
    pydantic model) the arguments; a parameter called ``path`` names the file or folder that a call is about. Without
    ``title`` the screen shows the name and the path.
    """

    def decorate(run: Callable[[P, ToolContext], Awaitable[str | ToolOutput]]) -> Tool:
        params = inspect.get_annotations(run, eval_str=True)["params"]
        return Tool(run.__name__, effect, inspect.getdoc(run) or "", params, run, title, command)

    return decorate
