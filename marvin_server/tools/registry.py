"""The tools of a session: what a model is told of them, and how its calls become prepared, then run."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from marvin_server.errors import PermissionNeeded, Rejected, ToolError
from marvin_server.events import Command
from marvin_server.messages import ToolCall, ToolSpec
from marvin_server.tools import arguments, index
from marvin_server.tools.base import Preview, Tool, ToolContext, ToolEntry, ToolOutput

if TYPE_CHECKING:
    from pydantic import BaseModel

_CHANGED = re.compile(r"^\+\+\+ b/(.+?)\t?$", re.MULTILINE)
CORE = ("files", "search", "shell", "git", "web", "notes", "workspace", "session", index.USER_TOOLSET)
# What goes without saying: that a field is off, empty or here unless it is given, and that no count is below 0.
_UNSAID: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"default": (False, 0, "", ".", [], None), "minimum": (0, 1), "minLength": (0, 1)}
)


class PreparedCall(Struct, frozen=True):
    """A tool call whose arguments are valid. ``locations`` are paths as the model wrote them.

    ``command``, for tools that run one, shows exactly what will run in a given context.
    """

    call: ToolCall
    entry: ToolEntry
    tool: Tool
    params: "BaseModel"
    title: str
    locations: tuple[str, ...]
    command: Callable[[ToolContext], Command] | None


class Registry:
    """Every tool that there is, by its index; a tool's own module is imported at its first call.

    ``entries`` maps names to tools, ``warnings`` are lines for the person about tools that were left out.
    """

    def __init__(self, entries: Iterable[ToolEntry], toolsets: Mapping[str, str], warnings: Sequence[str] = ()) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.warnings = tuple(warnings)
        self._toolsets = dict(toolsets)
        self._loaded: dict[str, Tool] = {}

    @classmethod
    def load(cls, cache: Path, user_tools: Path) -> "Registry":
        """The built-in tools and those of the ``.py`` files in ``user_tools``, which cannot take a name that exists.

        ``cache`` is a folder that may be deleted at any time. Nothing is imported while the indexes are fresh.
        """
        own = index.built_in(cache)
        added, warnings = index.user(user_tools, cache)
        entries, notes = {entry.name: entry for entry in own.tools}, list(warnings)
        for entry in added.tools:
            if entry.name in entries:
                notes.append(f"{entry.module}: there is another tool called {entry.name}; this one is left out")
            else:
                entries[entry.name] = entry
        return cls(entries.values(), {**own.toolsets, **added.toolsets}, notes)

    def toolsets(self) -> Mapping[str, str]:
        """The name of each toolset and one line on what it is for."""
        return self._toolsets

    def select(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The toolsets that the setting ``tools`` means: the core ones, then those named; ``all`` names every one."""
        names = [*CORE, *(name for item in wanted for name in (self._toolsets if item == "all" else [item]))]
        return tuple(name for name in dict.fromkeys(names) if name in self._toolsets)

    def specs(self, toolsets: Sequence[str], *, readonly: bool = False) -> tuple[ToolSpec, ...]:
        """What a model is told of the tools in ``toolsets``: in that order, so that one added last moves no other.

        With ``readonly`` only tools that read, here or on the network, are in it.
        """
        return tuple(
            ToolSpec(entry.name, entry.description, _told(entry.parameters))
            for toolset in toolsets
            for entry in self.entries.values()
            if entry.toolset == toolset and (not readonly or entry.effect in {"read", "network"})
        )

    def prepare(self, call: ToolCall) -> PreparedCall | ToolOutput:
        """Check a call's name and arguments; never raises. An output is the error that the model should read. It takes
        time in proportion to the arguments, and may be done in any thread."""
        entry = self.entries.get(call.name)
        if entry is None:
            return _refusal(self._unknown(call.name))
        try:
            values = arguments.parse(entry, call.arguments)
            return _prepared(call, entry, self._tool(entry), values)
        except ToolError as error:
            return _refusal(str(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _crash(call.name, error)

    async def execute(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Run a prepared call. Raises only ``PermissionNeeded``, ``asyncio.CancelledError`` and ``KeyboardInterrupt``.

        Whatever else a tool does wrong (exits, panics, returns what is no text) is an error that the model reads.
        """
        try:
            if prepared.entry.toolset != index.USER_TOOLSET:
                output = _output(await prepared.tool.run(prepared.params, context))
                return await _checked(output, context) if prepared.entry.effect == "edit" else output
            from marvin_server.tools.foreign import printing_to_stderr

            return _output(await printing_to_stderr(lambda: prepared.tool.run(prepared.params, context)))
        except (PermissionNeeded, asyncio.CancelledError, KeyboardInterrupt):
            raise
        except Rejected as error:
            return ToolOutput(str(error), "denied")
        except ToolError as error:
            return _refusal(str(error))
        except BaseException as error:
            return _crash(prepared.entry.name, error)

    async def preview(self, prepared: PreparedCall, context: ToolContext) -> Preview | None:
        """What a prepared call would change; None where its tool cannot tell, or must ask before it can.

        Raises ToolError with what is wrong with the call, ``asyncio.CancelledError`` and ``KeyboardInterrupt``.
        """
        if prepared.tool.preview is None:
            return None
        try:
            found = await prepared.tool.preview(prepared.params, context)
            return await asyncio.to_thread(Preview.of, found) if isinstance(found, str) else found
        except PermissionNeeded:
            return None
        except (ToolError, asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ToolError(_crash(prepared.entry.name, error).text) from error

    def _tool(self, entry: ToolEntry) -> Tool:
        if entry.name not in self._loaded:
            self._loaded[entry.name] = index.load(entry)
        return self._loaded[entry.name]

    def _unknown(self, name: str) -> str:
        import difflib

        by_words = {" ".join(sorted(known.split("_"))): known for known in self.entries}
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:100]).lower()
        words = " ".join(sorted(snake.split("_")))
        likeness = {
            known: max(difflib.SequenceMatcher(None, *pair).ratio() for pair in ((words, in_order), (snake, known)))
            for in_order, known in by_words.items()
        }
        near = sorted((known for known in likeness if likeness[known] > 0.6), key=likeness.__getitem__, reverse=True)[
            :3
        ]
        if near:
            hint = "Did you mean " + " or ".join(f"{known} (toolset {self.entries[known].toolset})" for known in near)
            return f"There is no tool called {name[:100]!r}. {hint}?"
        return f"There is no tool called {name[:100]!r}. The tools are: {', '.join(self.entries)}."


def _prepared(call: ToolCall, entry: ToolEntry, tool: Tool, values: dict[str, Any]) -> PreparedCall:
    from pydantic import ValidationError

    try:
        params = tool.params.model_validate(values)
    except ValidationError as error:
        raise arguments.explain(entry, error.errors()) from None
    path: object = getattr(params, "path", None)
    named = (path,) if isinstance(path, str) else ()
    locations = tuple(tool.paths(params)) if tool.paths else named
    title = tool.title(params) if tool.title else " ".join([tool.name, *locations])
    show = tool.command
    return PreparedCall(
        call, entry, tool, params, title, locations, None if show is None else lambda context: show(params, context)
    )


def _told(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as it goes with every request. Examples and what goes without saying would cost too much in it; the
    error after a wrong call says them."""
    fields: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    return {
        **schema,
        "properties": {
            name: {
                key: value for key, value in field.items() if key != "examples" and value not in _UNSAID.get(key, ())
            }
            for name, field in fields.items()
        },
    }


def _output(result: object) -> ToolOutput:
    """What a tool returned, as it can be sent and stored. Raises TypeError for anything else."""
    from marvin_server.workspace.encodings import readable

    output = ToolOutput(result) if isinstance(result, str) else result
    if not isinstance(output, ToolOutput) or not isinstance(output.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"it returned {type(result).__name__}, not text")
    json.dumps(to_builtins(output.details))
    return replace(output, text=readable(output.text))


async def _checked(output: ToolOutput, context: ToolContext) -> ToolOutput:
    """The output of an edit, with what the person's checks find in the files that its diff names."""
    if not context.checks or output.status != "ok":
        return output
    from marvin_server.tools.shell.diagnostics import after_edit

    changed: list[str] = _CHANGED.findall(str(output.details.get("diff", "")))
    lines = [*await context.workspace.save(), await after_edit(changed, context), *await context.workspace.reconcile()]
    return replace(output, text="\n".join(filter(None, [output.text, *lines])))


def _refusal(text: str) -> ToolOutput:
    return ToolOutput(f"Error: {text}", "error")


def _crash(name: str, error: BaseException) -> ToolOutput:
    logging.getLogger("marvin.tools").exception("The tool %s crashed", name)
    return ToolOutput(f"Error executing '{name}': {type(error).__name__}: {error}", "error")
