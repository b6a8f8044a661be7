"""``marvin/job/…``: what runs beside turns. Nothing does yet."""

from typing import TYPE_CHECKING, Any

from marvin_server.errors import UsageError
from marvin_server.protocol.jobs import JobCancelParams, JobsResult
from marvin_server.protocol.reading import read

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server


async def list_(server: "Server", params: dict[str, Any]) -> JobsResult:
    """The jobs of this connection: there are none."""
    return JobsResult(())


async def cancel(server: "Server", params: dict[str, Any]) -> JobsResult:
    """Raises ``UsageError``, since there is no job that could be named."""
    asked = read(params, JobCancelParams)
    raise UsageError(f"there is no job {asked.job_id!r}: marvin/job/list shows them")
