"""The tool ``git_commit``."""

import shlex

from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.events import Command
from marvin_server.tools.base import Preview, ToolContext, tool
from marvin_server.tools.git._repository import repository
from marvin_server.workspace.git_commit import commit
from marvin_server.workspace.git_preview import of_commit


class Params(BaseModel):
    message: str = Field(examples=["Add a parser"])
    paths: list[str] = Field([], examples=[["src/main.py"]], description="files or folders, new ones too")
    all: bool = False


def _title(params: Params) -> str:
    first = params.message.strip().partition("\n")[0]
    return f"git_commit {first}"


def _command(params: Params, context: ToolContext) -> Command:
    """The command that would make the commit, quoted for bash, so that rules about commands can be told of it."""
    what = ["--all"] if params.all else ["--only", "--", *params.paths] if params.paths else []
    argv = ["git", "commit", "--no-verify", "--no-gpg-sign", f"--message={params.message}", *what]
    return Command(shlex.join(argv), "bash", str(context.workspace.directory))


async def _preview(params: Params, context: ToolContext) -> Preview:
    paths = _paths(params, context)
    foreseen = await of_commit(await repository(context), params.message, paths=paths, everything=params.all)
    return Preview(foreseen.text, foreseen.state, foreseen.is_whole)


@tool(effect="execute", title=_title, command=_command, preview=_preview)
async def git_commit(params: Params, context: ToolContext) -> str:
    """Commit what is staged, or the named paths, or all tracked changes. Hooks do not run."""
    paths = _paths(params, context)
    return await commit(await repository(context), params.message, paths=paths, everything=params.all)


def _paths(params: Params, context: ToolContext) -> list[str]:
    if params.all and params.paths:
        raise ToolError("Give paths or all, not both.")
    return [context.workspace.locate(path) for path in params.paths]
