"""What model requests have used, in the store: each by itself, and added up by the person's own days."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, Literal

from marvin_server.messages import Charge, Usage
from marvin_server.session.database import Database
from marvin_server.session.transcript import storable
from marvin_server.session.usage import ModelUsage, Tally, Used

By = Literal["model", "vendor", "session", "day", "week", "month"]

# Prices have up to six digits per million tokens; so many units are one USD.
_USD = 10**12
_MOST = 2**62
_LISTED = 5
_OF_DAYS = """total(requests), total(input), total(output), total(cache_read), total(cache_write), total(cost),
    total(unpriced), total(saved) FROM spent WHERE day >= ?"""
_OF_REQUESTS = """count(*), total(input), total(output), total(cache_read), total(cache_write), total(cost),
    count(*) - count(cost), total(saved) FROM usage"""
# What the parts of a sum are called. A week is called by its Monday; only what was taken over has no day.
_NAMES = MappingProxyType(
    {
        "model": "provider || '/' || model",
        "vendor": "CAST(provider AS TEXT)",
        "day": "coalesce(date(day), 'earlier')",
        "week": "coalesce(date(day, 'weekday 0', '-6 days'), 'earlier')",
        "month": "coalesce(strftime('%Y-%m', day), 'earlier')",
    }
)


class Share(Used, frozen=True, kw_only=True):
    """A part of all that was used: that of a model (``VENDOR/MODEL``), a vendor, a session (its id, with its
    ``title``; empty for those that were deleted), a day (``2026-11-21``), a week (its Monday) or a month (``2026-11``).
    What was used before there were days is called ``earlier``."""

    name: str
    title: str = ""


class Spending:
    """What was used, in ``database``, which says what every method raises. Days are those of the person's time zone at
    that time, as ``YYYY-MM-DD``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def record(
        self,
        session_id: str | None,
        provider: str,
        model: str,
        usage: Usage,
        charge: Charge,
        *,
        at: datetime | None = None,
    ) -> None:
        """Keep what one model request took, ``at`` a time (default: now) that has a time zone: its date is the day. The
        session may be gone, or none."""
        at = at or datetime.now().astimezone()
        with self._db.transaction() as database:
            database.execute(
                "INSERT INTO usage VALUES ((SELECT id FROM sessions WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    session_id,
                    storable(provider),
                    storable(model),
                    *(usage.input, usage.output, usage.cache_read, usage.cache_write),
                    *(_units(charge.cost), _units(charge.saved)),
                    at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                    at.date().isoformat(),
                ),
            )

    def take_over(self, rows: Iterable[ModelUsage]) -> None:
        """Keep what models have used in an earlier assistant, on no day that is known; once for each."""
        with self._db.transaction() as database:
            database.executemany(
                "INSERT OR IGNORE INTO spent VALUES ('', ?, ?, ?, 0, 0, 0, 0, ?, ?, 0)",
                [(row.provider, storable(row.model), row.requests, _units(row.cost), row.unpriced) for row in rows],
            )

    def of_session(self, session_id: str) -> list[ModelUsage]:
        """What each model has used in a session, in the order of their first requests."""
        return self._by_model(f"{_OF_REQUESTS} WHERE session_id = ?", "min(rowid)", session_id)

    def by_model(self, since: str = "") -> list[ModelUsage]:
        """What each model has used in all sessions, those that were deleted too, the most expensive first."""
        return self._by_model(_OF_DAYS, "total(cost) DESC, provider, model", since)

    def since(self, day: str = "") -> Used:
        """All that was used from a day on."""
        return Used(*_counts(self._db.rows(f"SELECT {_OF_DAYS}", day)[0]))

    def shares(self, by: By, since: str = "") -> list[Share]:
        """The parts of ``since``: times in their order, others with the most expensive first."""
        if by == "session":
            query = f"""SELECT ifnull(session_id, ''), ifnull(title, ''), {_OF_REQUESTS}
                LEFT JOIN sessions ON id = session_id WHERE day >= ? GROUP BY session_id"""
        else:
            query = f"SELECT {_NAMES[by]} AS name, '', {_OF_DAYS} GROUP BY name"
        order = "total(cost) DESC, 1" if by in ("model", "vendor", "session") else "max(day)"
        rows = self._db.rows(f"{query} ORDER BY {order}", since)
        return [Share(*_counts(counts), name=name, title=title) for name, title, *counts in rows]

    def report(self, session_id: str) -> str:
        """Lines of text on what a session has used by model and, where others have, too, on all of them, on this month
        and on today."""
        session, life = Tally(self.of_session(session_id)), self.since()
        if life.requests == session.total.requests:
            return session.report()
        models, day = self.by_model(), today()
        more = [f"- {len(models) - _LISTED} more; `marvin usage` shows them"] if len(models) > _LISTED else []
        lines = [
            session.report(),
            f"All sessions: {life}",
            *(f"- {row.provider}/{row.model}: {row}" for row in models[:_LISTED]),
            *more,
            f"This month: {self.since(day.replace(day=1).isoformat())}",
            f"Today: {self.since(day.isoformat())}",
        ]
        return "\n".join(lines)

    def _by_model(self, query: str, order: str, value: str) -> list[ModelUsage]:
        names = "CAST(provider AS TEXT), CAST(model AS TEXT)"
        rows = self._db.rows(f"SELECT {names}, {query} GROUP BY {names} ORDER BY {order}", value)
        return [ModelUsage(*_counts(counts), provider=provider, model=model) for provider, model, *counts in rows]


def today() -> date:
    """The day that it is where the person is."""
    return datetime.now().astimezone().date()


def _counts(row: Any) -> tuple[int, Usage, float, int, float]:
    """The counts of a ``Used``, in its order. SQLite gives sums as floats, exact up to 2**53 units (9,007 USD); what
    cannot be added up is the most that there is, so that a cap holds."""
    requests, *tokens, cost, unpriced, saved = (_MOST if n is None else max(-_MOST, min(n, _MOST)) for n in row)
    return int(requests), Usage(*map(int, tokens)), cost / _USD, int(unpriced), saved / _USD


def _units(usd: float | None) -> int | None:
    return None if usd is None else max(-_MOST, min(round(usd * _USD), _MOST))
