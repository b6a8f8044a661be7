"""Commands work on the disk: open files are saved before one runs, and looked at again after it."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from marvin_server.events import Event, Notice
from marvin_server.tools.base import ToolOutput
from marvin_server.workspace.undisturbed import undisturbed
from marvin_server.workspace.workspace import Workspace


async def with_saved_files(
    workspace: Workspace, run: Callable[[], Awaitable[ToolOutput]], emit: Callable[[Event], None]
) -> ToolOutput:
    """The output of ``run``, which sees the open files of which all unsaved changes are Marvin's.

    What could not be saved is told to the person; which files with unsaved changes have changed on disk meanwhile, also
    to the model.
    """
    for line in await workspace.save():
        emit(Notice("warning", line))
    lines: tuple[str, ...] = ()
    try:
        output = await run()
    finally:
        lines = await undisturbed(workspace.reconcile())
        for line in lines:
            emit(Notice("warning", line))
    return replace(output, text="\n".join([output.text, *lines])) if lines else output
