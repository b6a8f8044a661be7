"""Which sessions were forked from which, as a person reads it."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from marvin_server.session.store import SessionRecord


def lines(records: Sequence[SessionRecord], here: str | None = None) -> Iterator[str]:
    """A line for each session, those that were forked from it indented beneath it; the oldest first. A star marks the
    session whose id is ``here``."""
    for depth, record in _walk(records):
        when = record.updated_at[:16].replace("T", " ")
        mark = "*" if record.id == here else "-"
        yield f"{'  ' * depth}{mark} {record.title or '(untitled)'}  {when}  {record.id}"


def nested(records: Sequence[SessionRecord]) -> list[dict[str, Any]]:
    """The same as JSON values: each session with its ``forks``."""
    top: list[dict[str, Any]] = []
    way: list[dict[str, Any]] = []
    for depth, record in _walk(records):
        node: dict[str, Any] = {**to_builtins(record), "forks": []}
        (way[depth - 1]["forks"] if depth else top).append(node)
        way[depth:] = [node]
    return top


def of(record: SessionRecord, records: Sequence[SessionRecord]) -> list[SessionRecord]:
    """Those of ``records`` that are in one tree with ``record``."""
    known = {each.id: each for each in records} | {record.id: record}
    return [each for each in known.values() if _top(each, known) == _top(record, known)]


def _top(record: SessionRecord, known: dict[str, SessionRecord]) -> str:
    while record.parent_id in known:
        record = known[record.parent_id]
    return record.id


def _walk(records: Sequence[SessionRecord]) -> Iterator[tuple[int, SessionRecord]]:
    """Every session with its depth, parents before their forks; one whose parent is not there is a root."""
    known = {record.id for record in records}
    forks: dict[str | None, list[SessionRecord]] = {}
    for record in sorted(records, key=lambda each: each.created_at, reverse=True):
        forks.setdefault(record.parent_id if record.parent_id in known else None, []).append(record)
    waiting = [(0, record) for record in forks.get(None, ())]
    while waiting:
        depth, record = waiting.pop()
        yield depth, record
        waiting += [(depth + 1, fork) for fork in forks.get(record.id, ())]
