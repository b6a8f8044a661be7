"""The profiles of an earlier assistant become Marvin's: once, whole, and without a change to them."""

import json
import os
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.errors import MarvinError
from marvin_server.paths import Paths
from marvin_server.profiles import profile, taking_over
from marvin_server.profiles.profile import Profile
from marvin_server.session import chat_log
from marvin_server.session.store import Store

LOG = [
    {"role": "you", "text": "Where can I eat?", "time": "2026-01-02T10:00:00Z"},
    {"role": "assistant", "text": "At Milliways.", "time": "2026-01-02T10:00:05Z"},
    {"role": "system", "text": "🔔 Table is booked", "time": "2026-01-02T10:01:00Z"},
    {"role": "you", "text": "Thänks", "time": "2026-01-02T10:02:00Z"},
]


@pytest.fixture
def places() -> Paths:
    return paths.find(dict(os.environ))


@pytest.fixture
def earlier(home: Path) -> Path:
    folder = home / ".config" / "local-finder"
    main, odd = folder / "profiles" / "main", folder / "profiles" / "My other one"
    for each in (main, odd):
        each.mkdir(parents=True)
    (folder / "last_profile").write_text("main\n")
    (folder / "usage.json").write_text('{"total": 3}')
    (main / "prefs.yaml").write_text("dietary: [vegan]\n")
    (main / "saved_places.json").write_text('[{"label":"home","name":"H","address":"A","lat":1,"lng":2}]')
    (main / "tokens.json").write_text('{"spotify": "secret"}')
    (main / "tokens.json").chmod(0o644)
    (main / "ntfy_subscriptions.json").write_text('[{"topic": "builds"}]')
    (main / "history").write_text("first line\nback\\slash\n")
    (main / "chat_log.json").write_text(json.dumps(LOG))
    (main / "notes").mkdir()
    (main / "notes" / "more.txt").write_text("kept")
    (odd / "preferences.yaml").write_text("budget: low\n")
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): (each.read_bytes(), each.stat().st_mtime_ns) for each in found}


def test_everything_is_taken_over_and_the_source_is_left_as_it_was(places: Paths, earlier: Path) -> None:
    before = contents(earlier)
    assert taking_over.due(places, os.environ) == earlier
    taken = taking_over.take_over(places, earlier)
    taking_over.finish(places)
    assert contents(earlier) == before
    assert [each.profile for each in taken] == ["My-other-one", "main"]
    main = Profile(places, "main")
    assert main.preferences_file.read_text() == "dietary: [vegan]\n"
    assert [place.label for place in main.places.read()] == ["home"]
    assert main.tokens.read() == {"spotify": "secret"}
    assert [each.topic for each in main.subscriptions.read()] == ["builds"]
    assert main.history.entries() == ["first line", "back\\slash"]
    assert json.loads((main.folder / "chat_log.json").read_text()) == LOG
    assert (main.folder / "notes" / "more.txt").read_text() == "kept"
    assert (places.profiles / "local-finder-usage.json").read_text() == '{"total": 3}'
    assert profile.last(places) == "main"
    assert taking_over.due(places, os.environ) is None


def test_taking_over_again_after_a_crash_changes_nothing(places: Paths, earlier: Path) -> None:
    taking_over.take_over(places, earlier)
    before = contents(places.config)
    taking_over.take_over(places, earlier)
    assert contents(places.config) == before
    assert Profile(places, "main").history.entries() == ["first line", "back\\slash"]


def test_what_is_there_already_is_not_replaced(places: Paths, earlier: Path) -> None:
    main = profile.create(places, "main")
    main.preferences_file.write_text("mine: true\n")
    taking_over.take_over(places, earlier)
    assert main.preferences_file.read_text() == "mine: true\n"
    assert main.preferences_file.with_name("preferences.yaml.local-finder").read_text() == "dietary: [vegan]\n"


def test_a_chat_log_becomes_a_session_with_every_entry_and_its_time(places: Paths, earlier: Path) -> None:
    database = places.database("main")
    file = earlier / "profiles" / "main" / "chat_log.json"
    session_id = chat_log.take_in(database, file, "/somewhere")
    assert chat_log.take_in(database, file, "/somewhere") == session_id
    store = Store.open(database)
    (record,) = store.sessions()
    assert (record.id, record.messages, record.updated_at) == (session_id, 4, LOG[-1]["time"])
    said = [(message.role, message.text) for message in store.history(record.id)]
    assert said == [
        ("user", "Where can I eat?"),
        ("assistant", "At Milliways."),
        ("user", "[system] 🔔 Table is booked"),
        ("user", "Thänks"),
    ]
    assert [entry["at"] for entry in store.export(record.id)["entries"]] == [each["time"] for each in LOG]
    assert [hit.title for hit in store.catalogue.search("milliways")] == ["Chat log of local-finder"]
    store.close()


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}', "[" * 100_000])
def test_a_file_that_is_no_chat_log_is_said(places: Paths, tmp_path: Path, content: str) -> None:
    file = tmp_path / "chat_log.json"
    file.write_text(content)
    with pytest.raises(MarvinError, match="left as it is"):
        chat_log.take_in(places.database("main"), file, "/somewhere")


def test_an_odd_entry_is_kept_as_it_is(places: Paths, tmp_path: Path) -> None:
    file = tmp_path / "chat_log.json"
    file.write_text(json.dumps(["bare", {"role": "you"}, {"role": "you", "text": "x"}]))
    session_id = chat_log.take_in(places.database("main"), file, "/somewhere")
    store = Store.open(places.database("main"))
    assert [m.text for m in store.history(str(session_id))] == ['"bare"', '{"role": "you"}', "x"]
    store.close()


@pytest.mark.parametrize("time", ["2026", "x", "", 7, None, "٢٠٢٦-01-02T10:00:00Z", "0001-01-01T00:00:00+14:00"])
def test_an_entry_without_a_time_has_that_of_the_one_before(places: Paths, tmp_path: Path, time: object) -> None:
    file = tmp_path / "chat_log.json"
    file.write_text(json.dumps([LOG[0], {"role": "you", "text": "x", "time": time}]))
    session_id = str(chat_log.take_in(places.database("main"), file, "/somewhere"))
    store = Store.open(places.database("main"))
    assert [entry["at"] for entry in store.export(session_id)["entries"]] == [LOG[0]["time"]] * 2
    store.close()
