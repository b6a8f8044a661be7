"""The tool ``notes_ls``."""

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notes._place import FOLDER, folder_path, walk
from marvin_server.workspace.names import printable

_MOST = 500


class Params(BaseModel):
    folder: str = Field("", examples=["meetings"])


@tool(effect="read")
async def notes_ls(params: Params, context: ToolContext) -> str:
    """List the notes of this workspace."""
    root = context.workspace.root
    name = params.folder.rstrip("/")
    place = folder_path(name) if name else FOLDER
    try:
        root.stat(place)
    except OSError:
        if name:
            raise ToolError(f"There is no folder of notes called '{printable(name)}'. notes_ls shows all.") from None
        return "[there are no notes yet]"
    notes = list(walk(root, place))
    lines = [f"{printable(note)}/" if size is None else f"{printable(note)} ({size:,} bytes)" for note, size in notes]
    if len(lines) > _MOST:
        lines[_MOST:] = [f"[… {len(lines) - _MOST:,} more]"]
    return "\n".join(lines) or "[there are no notes in it]"
