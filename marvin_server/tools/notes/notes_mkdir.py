"""The tool ``notes_mkdir``."""

from pydantic import BaseModel, Field

from marvin_server.tools.base import ToolContext, tool
from marvin_server.tools.notes._place import folder_path, keep_out_of_git
from marvin_server.workspace.documents import explained


class Params(BaseModel):
    folder: str = Field(examples=["meetings/2026"])


@tool(effect="edit")
async def notes_mkdir(params: Params, context: ToolContext) -> str:
    """Make a folder for notes, with those above it."""
    root, path = context.workspace.root, folder_path(params.folder.rstrip("/"))
    with explained(root, path, "creating"):
        root.make_directory(path)
    await keep_out_of_git(context.workspace)
    return f"There is a folder {path}."
