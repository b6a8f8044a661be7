"""The tool ``install_packages``."""

import posixpath
import re
import shlex
import shutil
from collections.abc import Sequence

from pydantic import BaseModel, Field, field_validator

from marvin_server.errors import ToolError
from marvin_server.events import Command
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.shell import run_command as shell
from marvin_server.workspace import documents
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace

_SECONDS = 600
# https://packaging.python.org/en/latest/specifications/dependency-specifiers/, without URLs and markers.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9_.*+!-]+"
_PACKAGE = re.compile(rf"{_NAME}(?:\[{_NAME}(?:,\s*{_NAME})*\])?(?:\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?", re.ASCII)


class Params(BaseModel):
    packages: list[str] = Field(min_length=1, max_length=50, examples=[["requests", "pytest>=8"]])
    dev: bool = Field(False, description="for development only; needs uv, and [project] in pyproject.toml")

    @field_validator("packages")
    @classmethod
    def _are_names(cls, packages: list[str]) -> list[str]:
        for package in packages:
            if not _PACKAGE.fullmatch(package):
                raise ValueError(
                    f"{package!r} is no package name such as 'requests' or 'pytest>=8'; options, URLs and paths "
                    "are for run_command"
                )
        return packages


def _title(params: Params) -> str:
    return f"install_packages {' '.join(params.packages)}"


def _command(params: Params, context: ToolContext) -> Command:
    show = shell.run_command.command
    assert show is not None
    return show(_as_command(params, context), context)


@tool(effect="execute", title=_title, command=_command)
async def install_packages(params: Params, context: ToolContext) -> ToolOutput | str:
    """Install Python packages into the workspace's own .venv (made when there is none); with uv they are recorded
    in its pyproject.toml."""
    workspace = context.workspace
    for name in (".venv", "pyproject.toml"):
        _exists(workspace.root, posixpath.normpath(f"{_home(workspace)}/{name}"))
    return await shell.run_command.run(_as_command(params, context), context)


def _as_command(params: Params, context: ToolContext) -> shell.Params:
    return shell.Params(command=_line(params, context), timeout=_SECONDS)


def _line(params: Params, context: ToolContext) -> str:
    """The shell command that installs the packages: by uv, else by pip."""
    workspace, words = context.workspace, shlex.join(params.packages)
    home = _home(workspace)
    has_uv = shutil.which("uv", path=context.environ.get("PATH", "")) is not None
    if has_uv and _is_project(workspace.root, home):
        return f"uv add {'--dev ' if params.dev else ''}{words}"
    place = shlex.quote(workspace.named(posixpath.normpath(f"{home}/.venv")))
    make, install = (
        (f"uv venv {place}", f"uv pip install --python {place}/bin/python {words}")
        if has_uv
        else (f"python3 -m venv {place}", f"{place}/bin/python -m pip install {words}")
    )
    return install if _is_there(workspace.root, home, (".venv",)) else f"{make} && {install}"


def _home(workspace: Workspace) -> str:
    """The nearest folder, from the working directory up to the root, that has an environment or is a project."""
    folder = workspace.working_dir
    while folder != "." and not _is_there(workspace.root, folder, (".venv", "pyproject.toml")):
        folder = posixpath.dirname(folder) or "."
    return folder


def _is_there(root: Root, folder: str, names: Sequence[str]) -> bool:
    try:
        return any(_exists(root, posixpath.normpath(f"{folder}/{name}")) for name in names)
    except (OSError, ToolError):
        return False


def _exists(root: Root, path: str) -> bool:
    """Whether there is something; raises what ``Root`` does for a path that leads out."""
    try:
        root.stat(path)
    except FileNotFoundError:
        return False
    return True


def _is_project(root: Root, folder: str) -> bool:
    """Whether the folder's pyproject.toml describes a project, which uv can add packages to."""
    import tomllib

    try:
        text = documents.read(root, posixpath.normpath(f"{folder}/pyproject.toml")).text
        return "project" in tomllib.loads(text)
    except (OSError, ToolError, tomllib.TOMLDecodeError):
        return False
