"""The repository that the git tools are about."""

from marvin_server.tools.base import ToolContext
from marvin_server.workspace.git_repository import Repository, opened


async def repository(context: ToolContext) -> Repository:
    """The repository around the working directory."""
    workspace = context.workspace
    root, here = workspace.root, workspace.working_dir
    return await opened(context.processes, root.path, here, context.environ, workspace.permits, guard=root.guard)
