"""The repository that the git tools are about."""

from marvin_server.tools.base import ToolContext
from marvin_server.workspace.git import Git


def repository(context: ToolContext) -> Git:
    """The repository around the working directory."""
    workspace = context.workspace
    return Git(context.processes, workspace.root.path, workspace.working_dir, context.environ, workspace.permits)
