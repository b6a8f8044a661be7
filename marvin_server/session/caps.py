"""The caps on money: what a session, a day and a month have cost in all processes of the profile, and may cost.

A request is asked for while no cap is reached, since nobody knows what it will cost before it is answered: a cap is
exceeded by no more than the requests that are under way at that moment, one for each session at work.
"""

from collections.abc import Mapping
from datetime import date, timedelta

from msgspec import Struct

from marvin_server.session.spending import Spending, today
from marvin_server.session.usage import Used
from marvin_server.settings import Span

_NEAR = 0.8


class Cap(Struct, frozen=True):
    """``usd`` may be spent in the ``span`` that began on the day ``since`` (empty: with the session), ``used`` was."""

    span: Span
    since: str
    usd: float
    used: Used

    @property
    def is_reached(self) -> bool:
        return self.used.cost >= self.usd

    @property
    def is_near(self) -> bool:
        return self.used.cost >= _NEAR * self.usd

    @property
    def standing(self) -> str:
        """What was spent of it, as a clause."""
        what = {"session": "this session has cost", "day": "today has cost", "month": "this month has cost"}[self.span]
        unknown = f" (and {self.used.unpriced:,} of unknown price)" if self.used.unpriced else ""
        return f"{what} {_usd(self.used.cost)} of {_usd(self.usd)}{unknown}"

    @property
    def warning(self) -> str | None:
        """What a person should know before it is reached, or though it may have been; None for nothing."""
        if self.is_near:
            return f"the cost limit is near: {self.standing}"
        return f"the cost limit does not count all: {self.standing}" if self.used.unpriced else None

    @property
    def way_on(self) -> str:
        """What a person can do once it is reached."""
        if self.span == "session":
            return "raise --max-cost (in config.yaml max_cost or budget: session) and go on with --continue"
        end = "tomorrow" if self.span == "day" else _next_month(date.fromisoformat(self.since))
        return f"raise budget: {self.span} in config.yaml, or wait until {end}"


def standing(limits: Mapping[Span, float], spending: Spending, session: Used, day: date | None = None) -> list[Cap]:
    """How each of ``limits`` (USD) stands on a ``day`` of the person's (default: today); ``session`` is what that has
    used. What has a later date, since a clock was set back, counts as of that day."""
    day = day or today()
    began: Mapping[Span, str] = {"session": "", "day": day.isoformat(), "month": day.replace(day=1).isoformat()}
    return [
        Cap(span, since, limits[span], spending.since(since) if since else session)
        for span, since in began.items()
        if span in limits
    ]


def _next_month(first: date) -> str:
    return (first + timedelta(days=31)).replace(day=1).isoformat()


def _usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4g}"
