"""Commands work on the disk: open files, which the gate has had saved, are looked at again after one."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from marvin_server.events import Event, Notice
from marvin_server.tools.base import ToolOutput
from marvin_server.workspace.undisturbed import undisturbed
from marvin_server.workspace.workspace import Workspace


async def with_news(
    workspace: Workspace, run: Callable[[], Awaitable[ToolOutput]], emit: Callable[[Event], None]
) -> ToolOutput:
    """The output of ``run``. Which open files with unsaved changes have changed on disk, as it shows before or after
    it, is told to the person and the model."""
    lines: tuple[str, ...] = ()
    try:
        output = await run()
    finally:
        lines = await undisturbed(workspace.reconcile())
        for line in lines:
            emit(Notice("warning", line))
    return replace(output, text="\n".join([output.text, *lines])) if lines else output
