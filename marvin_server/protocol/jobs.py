"""``marvin/job/…``: what runs beside turns."""

from typing import Literal

from marvin_server.protocol.base import FromClient, FromServer

JobKind = Literal["subAgent", "review", "timer", "schedule"]
JobState = Literal["waiting", "running", "finished", "failed", "cancelled"]


class Job(FromServer, frozen=True):
    """``next_run_at`` is when one that waits runs; ``result`` is what one that ended has to say."""

    id: str
    kind: JobKind
    title: str
    state: JobState
    next_run_at: str | None = None
    result: str | None = None


class JobCancelParams(FromClient, frozen=True):
    job_id: str


class JobsResult(FromServer, frozen=True):
    """All that wait or run, and those that ended since the server began."""

    jobs: tuple[Job, ...]


class JobChangedParams(FromServer, frozen=True):
    job: Job
