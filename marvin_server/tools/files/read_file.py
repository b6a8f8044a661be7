"""The tool ``read_file``."""

from pathlib import PurePosixPath

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace import pictures
from marvin_server.workspace.encodings import readable

_WHOLE_BYTES = 10_240
_RANGE_LINES = 2_000
_RANGE_CHARACTERS = 50_000
_IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})


class Params(BaseModel):
    path: str = Field(examples=["src/main.py"])
    start_line: int | None = Field(None, ge=1, examples=[1])
    end_line: int | None = Field(None, ge=1, examples=[50])


def _title(params: Params) -> str:
    if params.start_line is None and params.end_line is None:
        return f"read_file {params.path}"
    return f"read_file {params.path} {params.start_line or 1}-{params.end_line or ''}"


@tool(effect="read", title=_title)
async def read_file(params: Params, context: ToolContext) -> str | ToolOutput:
    """Read a text file, or look at an image. A file over 10 KB needs a range of lines, counted from 1."""
    if PurePosixPath(params.path).suffix.lower() in _IMAGE_SUFFIXES:
        return await context.workspace.apart(params.path, lambda: _image(params.path, context))
    if params.start_line is None and params.end_line is None:
        return await context.workspace.apart(params.path, lambda: _whole(params.path, context))
    return await _range(params.path, params.start_line or 1, params.end_line, context)


def _whole(path: str, context: ToolContext) -> str:
    text = readable(context.workspace.read(path).text)
    size = len(text.encode())
    if size > _WHOLE_BYTES:
        count = text.count("\n") + (not text.endswith("\n"))
        lines = f"{count:,} {'line' if count == 1 else 'lines'}"
        raise ToolError(
            f"File '{path}' is {lines} ({size / 1024:,.1f} KB), too much to read at once. Find the place with "
            f'code_grep, or read a section: read_file({{"path": "{path}", "start_line": 1, "end_line": 100}})'
        )
    return text or "[the file is empty]"


async def _range(path: str, start: int, end: int | None, context: ToolContext) -> str:
    if end is not None and end < start:
        raise ToolError(f"end_line {end} is before start_line {start}.")
    last = start + _RANGE_LINES - 1
    found = await context.workspace.read_lines(path, start, last if end is None else min(end, last))
    if not found.lines:
        raise ToolError(f"File '{path}' ends at line {found.total}; start_line {start} is past it.")
    shown: list[str] = []
    room = _RANGE_CHARACTERS
    for line in found.lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    stop = start + len(shown) - 1
    total = found.total if found.is_counted else f"at least {found.total}"
    return "\n".join([f"[lines {start}-{stop} of {total}]", *shown])


def _image(path: str, context: ToolContext) -> ToolOutput:
    content = context.workspace.read_bytes(path, pictures.LARGEST)
    image = pictures.picture(content)
    if image is None:
        raise ToolError(f"'{path}' has the name of an image, but its content is no PNG, JPEG, GIF or WebP.")
    return ToolOutput(f"[{image.mime_type} image, {len(content):,} bytes]", images=(image,))
