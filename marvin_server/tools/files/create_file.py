"""The tool ``create_file``."""

import errno
import os

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.hunks import FileChange, whole
from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace import documents
from marvin_server.workspace.encodings import readable


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    content: str = Field(examples=["print('hello')\n"])


def _place(params: Params, context: ToolContext) -> str:
    """Where the file goes, relative to the root. Raises ToolError when there is one."""
    workspace = context.workspace
    path = workspace.locate(params.path)
    with documents.explained(workspace.root, path, "creating"):
        if workspace.exists(params.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    return path


async def _preview(params: Params, context: ToolContext) -> str:
    return readable(difference(_place(params, context), "", params.content).diff)


@tool(effect="edit", preview=_preview, by_patch=True)
async def create_file(params: Params, context: ToolContext) -> ToolOutput:
    """Create a new file."""
    path = _place(params, context)
    change = FileChange(path, None, params.content, whole(path, None, params.content))
    applied = await context.patches().apply(context.workspace, [change], {})
    made = difference(path, "", params.content)
    text = "\n".join([f"Created {path}: +{made.added} lines.", *applied.notes])
    return ToolOutput(text, details=asdict(made))
