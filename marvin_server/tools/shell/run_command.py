"""The tool ``run_command``."""

import os

from pydantic import BaseModel, Field

from marvin_server.events import Command
from marvin_server.tools.base import ToolContext, ToolOutput, tool
from marvin_server.workspace.process import shell_argv


class Params(BaseModel):
    command: str = Field(examples=["make test"])
    timeout: int = Field(60, ge=1, le=600, description="seconds")


def _title(params: Params) -> str:
    return params.command


def _command(params: Params, context: ToolContext) -> Command:
    shell = shell_argv(params.command, context.environ)[0]
    sandbox = context.sandbox.state if context.sandbox else "off"
    return Command(params.command, shell, str(context.workspace.directory), sandbox=sandbox)


@tool(effect="execute", title=_title, command=_command)
async def run_command(params: Params, context: ToolContext) -> ToolOutput:
    """Run a bash command in the working directory, without input, and return its output and exit code."""
    directory = context.workspace.directory_fd()
    try:
        done = await context.processes.run(
            shell_argv(params.command, context.environ),
            cwd=directory,
            environ=context.environ,
            timeout=params.timeout,
            emit=context.emit,
            sandbox=context.sandbox,
        )
    finally:
        os.close(directory)
    output = done.output if not done.output or done.output.endswith("\n") else done.output + "\n"
    if done.timed_out:
        advice = "Break it into smaller steps, or give a longer timeout (600 at most)."
        return ToolOutput(f"{output}Error: Command timed out after {params.timeout}s. {advice}", "error")
    ended = done.exit_code or 0
    line = f"[exit code {ended}]" if ended >= 0 else f"[ended by signal {-ended}]"
    return ToolOutput(output + line, exit_code=ended)
