"""The tool ``diagnostics``: the checks that the person has configured, which run after each edit too."""

import posixpath
import shlex
import stat
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, Field

from marvin_server.errors import ToolError
from marvin_server.events import Command
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.tools.shell import run_command as shell
from marvin_server.workspace.globs import glob_pattern
from marvin_server.workspace.names import printable
from marvin_server.workspace.process import shell_argv

_SECONDS = 60
_CHARACTERS = 8_000
_NONE = (
    "No check is configured for this. The person can add one to config.yaml, such as\n"
    'checks: {"*.py": "ruff check {file}"}\nThe project\'s own checks can be run with run_command.'
)


class Check(Struct, frozen=True):
    """A check of files: ``text`` is what bash reads, in which their names are arguments and never part of a command;
    ``shown`` is the person's command with the names in their place."""

    shown: str
    text: str


class Params(BaseModel):
    path: str = Field(".", examples=["src/main.py"])


def _command(params: Params, context: ToolContext) -> Command:
    show = shell.run_command.command
    assert show is not None
    try:
        commands = commands_for(context, [context.workspace.locate(params.path)])
    except ToolError:
        commands = []
    text = "\n".join(command.text for command in commands) or "true"
    return show(shell.Params(command=text, timeout=_SECONDS), context)


@tool(effect="execute", command=_command)
async def diagnostics(params: Params, context: ToolContext) -> str | ToolOutput:
    """Run the project's checkers, as the person has configured them, on a file or folder."""
    commands = commands_for(context, [context.workspace.locate(params.path)])
    if not commands:
        return _NONE
    texts = [await _outcome(command, context) for command in commands]
    passed = [f"[nothing found by: {command.shown}]" for command, text in zip(commands, texts, strict=True) if not text]
    return "\n".join([*filter(None, texts), *passed])


async def after_edit(paths: Sequence[str], context: ToolContext) -> str:
    """What the checks find in the files ``paths`` (relative to the root), for the result of the edit; "" for nothing.

    Whatever goes wrong is told in the text: the edit itself has happened.
    """
    silent = replace(context, emit=_nobody)
    try:
        return "\n".join(filter(None, [await _outcome(command, silent) for command in commands_for(silent, paths)]))
    except ToolError as error:
        return f"[the checks did not run: {error}]"


def commands_for(context: ToolContext, paths: Sequence[str]) -> list[Check]:
    """Each check that one of ``paths`` needs; a folder needs them all."""
    root, workspace = context.workspace.root, context.workspace
    files: list[str] = []
    folders: list[str] = []
    for path in dict.fromkeys(paths):
        try:
            (folders if stat.S_ISDIR(root.stat(path).st_mode) else files).append(path)
        except OSError:
            continue
    commands: list[Check] = []
    for glob, command in context.checks.items():
        pattern = glob_pattern(glob)
        fitting = [*folders, *(file for file in files if pattern.fullmatch(file))]
        if fitting:
            names = (workspace.named(path) for path in fitting)
            words = [name if name == "." else posixpath.join(".", name) for name in names]
            argv = [*shell_argv(command.replace("{file}", '"$@"'), context.environ), "sh", *words]
            commands.append(Check(command.replace("{file}", shlex.join(words)), shlex.join(argv)))
    return commands


def _nobody(_text: str) -> None:
    """Shows nothing: what a check prints is no output of the edit."""


async def _outcome(command: Check, context: ToolContext) -> str:
    """What a check that fails says, under its command; "" when it passes."""
    done = await shell.run_command.run(shell.Params(command=command.text, timeout=_SECONDS), context)
    output = ToolOutput(done) if isinstance(done, str) else done
    if output.status == "ok" and output.exit_code == 0:
        return ""
    text = output.text
    if len(text) > _CHARACTERS:
        text = f"{text[: _CHARACTERS // 2]}\n[… cut …]\n{text[-_CHARACTERS // 2 :]}"
    return f"[check: {printable(command.shown)}]\n{text}"
