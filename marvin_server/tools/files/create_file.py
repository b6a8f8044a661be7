"""The tool ``create_file``."""

import errno
import os

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from marvin_server.edits.unified import difference
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace import documents
from marvin_server.workspace.encodings import readable


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    content: str = Field(examples=["print('hello')\n"])


async def _preview(params: Params, context: ToolContext) -> str:
    root, path = context.workspace.root, context.workspace.locate(params.path)
    with documents.explained(root, path, "creating"):
        if root.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    return readable(difference(path, "", params.content).diff)


@tool(effect="edit", preview=_preview)
async def create_file(params: Params, context: ToolContext) -> ToolOutput:
    """Create a new file. Write a long one in parts: the first here, the rest with append_file."""

    def create() -> ToolOutput:
        document = context.workspace.create(params.path, params.content)
        change = difference(document.path, "", params.content)
        return ToolOutput(f"Created {document.path}: +{change.added} lines.", details=asdict(change))

    is_small = len(params.content) <= documents.SMALL
    return await context.workspace.apart(params.path if is_small else None, create)
