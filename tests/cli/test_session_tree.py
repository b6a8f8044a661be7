"""Which sessions were forked from which."""

from typing import Any

from marvin_cli.session_tree import lines, nested, of

from marvin_server.session.store import SessionRecord


def record(name: str, parent: str | None = None) -> SessionRecord:
    at = f"2026-01-01T00:00:0{name[-1]}.000000Z"
    return SessionRecord(name, f"T{name}", "/w", "p", "m", at, at, None, parent, 1)


ALL = [record("s3", "s1"), record("s1"), record("s2"), record("s4", "s3"), record("s5", "s1"), record("s6", "gone")]


def test_forks_stand_beneath_their_session_the_oldest_first_and_a_star_marks_this_one() -> None:
    at = "2026-01-01 00:00"
    assert list(lines(ALL, "s4")) == [
        f"- Ts1  {at}  s1",
        f"  - Ts3  {at}  s3",
        f"    * Ts4  {at}  s4",
        f"  - Ts5  {at}  s5",
        f"- Ts2  {at}  s2",
        f"- Ts6  {at}  s6",
    ]


def test_as_json_each_session_has_its_forks() -> None:
    def shape(nodes: list[dict[str, Any]]) -> list[Any]:
        return [[node["id"], shape(node["forks"])] for node in nodes]

    assert shape(nested(ALL)) == [["s1", [["s3", [["s4", []]]], ["s5", []]]], ["s2", []], ["s6", []]]


def test_the_tree_of_a_session_is_all_that_has_the_same_root() -> None:
    assert sorted(each.id for each in of(ALL[3], ALL)) == ["s1", "s3", "s4", "s5"]
    assert [each.id for each in of(record("s9"), ALL)] == ["s9"]
