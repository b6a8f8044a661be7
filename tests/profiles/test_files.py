"""A person's files: whole or not at all, by one process at a time, and never lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_server import paths
from marvin_server.errors import MarvinError, UsageError
from marvin_server.paths import Paths
from marvin_server.profiles import files, preferences, profile
from marvin_server.profiles.profile import Place, Profile, Subscription
from tests.patience import SECONDS

MANY = """
import sys
from pathlib import Path
from marvin_server.profiles.files import JsonFile
file = JsonFile(Path(sys.argv[1]), list[int], [])
for number in range(100):
    file.change(lambda raw: [*raw, number])
"""


@pytest.fixture
def places(home: Path) -> Paths:
    return paths.find(dict(os.environ))


def test_two_processes_change_a_file_and_nothing_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    running = [subprocess.Popen([sys.executable, "-c", MANY, file]) for _ in range(2)]
    assert [process.wait(SECONDS) for process in running] == [0, 0]
    assert sorted(json.loads(file.read_text())) == sorted([*range(100), *range(100)])
    assert {each.name for each in tmp_path.iterdir()} == {"numbers.json", ".numbers.json.lock"}


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text("one")
    real.chmod(0o640)
    link.symlink_to(real)
    files.write(link, b"two")
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (True, "two", 0o640)


def test_tokens_are_private_and_not_read_where_others_could(places: Paths) -> None:
    tokens = Profile(places, "me").tokens
    tokens.change(lambda raw: {**raw, "spotify": {"refresh": "secret"}})
    assert tokens.path.stat().st_mode & 0o777 == 0o600
    assert tokens.read() == {"spotify": {"refresh": "secret"}}
    tokens.path.chmod(0o644)
    with pytest.raises(MarvinError, match="chmod 600"):
        tokens.read()


@pytest.mark.parametrize("content", [b"{", b'{"a": 1}', b"\xff", b'[{"label": 1}]'])
def test_a_file_that_is_wrong_is_said_and_left_as_it_is(places: Paths, content: bytes) -> None:
    saved = Profile(places, "me").places
    saved.path.parent.mkdir(parents=True)
    saved.path.write_bytes(content)
    with pytest.raises(MarvinError, match=r"saved_places\.json"):
        saved.read()
    with pytest.raises(MarvinError, match=r"saved_places\.json"):
        saved.change(lambda raw: [*raw, {}])
    assert saved.path.read_bytes() == content


def test_places_and_subscriptions_are_read_as_people_have_them(places: Paths) -> None:
    mine = Profile(places, "me")
    assert (mine.places.read(), mine.subscriptions.read()) == ((), ())
    mine.folder.mkdir(parents=True)
    place = {"label": "home", "name": "Home", "address": "Here 1", "lat": 52.5, "lng": 13, "since": 1999}
    mine.places.path.write_text(json.dumps([place]))
    mine.subscriptions.path.write_text('[{"topic": "builds", "lastMessageId": "x1"}, {"topic": "news"}]')
    assert mine.places.read() == (Place("home", "Home", "Here 1", 52.5, 13.0),)
    assert mine.subscriptions.read() == (Subscription("builds", "x1"), Subscription("news"))


def test_profiles_are_begun_listed_and_remembered(places: Paths) -> None:
    assert (profile.names(places), profile.last(places)) == (["default"], None)
    profile.create(places, "work")
    profile.remember(places, "work")
    assert (profile.names(places), profile.last(places)) == (["default", "work"], "work")
    with pytest.raises(UsageError, match="needs a name"):
        profile.create(places, "../elsewhere")
    places.last_profile.write_text("../elsewhere")
    assert profile.last(places) is None


def test_the_history_keeps_every_character_and_no_repetition(places: Paths) -> None:
    history = Profile(places, "me").history
    entries = ["plain", "two\nlines", "a\\n that is none", "tab\there \u2028 and ü", "\r\n"[:1] + "end"]
    history.add(*entries, "end of it", "end of it", "  ")
    assert Profile(places, "me").history.entries() == [*entries, "end of it"]
    assert places.history("me").stat().st_mode & 0o777 == 0o600


def test_the_history_stays_bounded(places: Paths) -> None:
    history = Profile(places, "me").history
    history.add(*(f"line {number}" for number in range(25_000)))
    assert history.entries()[-1] == "line 24999"
    assert len(places.history("me").read_bytes().splitlines()) == 10_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("theme: [", "line 2"),
        ("- a\n- b\n", "it needs lines such as"),
        ("a: \x01", "unacceptable character"),
        ("42", "needs"),
        ("a: " + "[" * 90_000, "nested too deep"),
        ("- " * 90_000, "nested too deep"),
    ],
    ids=range(6),
)
def test_broken_preferences_are_kept_aside_and_nothing_of_them_holds(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "preferences.yaml"
    file.write_text(text)
    found, (said,) = preferences.load(file)
    assert found == preferences.Preferences()
    assert problem in said
    (kept,) = tmp_path.glob("preferences.yaml.broken-*")
    assert kept.name in said
    assert (kept.read_text(), file.exists()) == (text, False)
    assert preferences.load(file) == (preferences.Preferences(), ())


def test_a_wrong_value_is_said_and_the_others_hold() -> None:
    found, problems = preferences.parse("keys: nano\nnotify_after: 5\ntheme: light\nbudget: low\n")
    assert (found.keys, found.notify_after, found.theme, dict(found.about)) == (
        "emacs",
        5.0,
        "light",
        {"budget": "low"},
    )
    assert problems == ("keys needs one of emacs, vi, not 'nano'; it is ignored",)


def test_the_template_says_nothing_until_somebody_does() -> None:
    assert preferences.parse(preferences.TEMPLATE) == (preferences.Preferences(), ())
    spoken = "\n".join(line.removeprefix("# ") for line in preferences.TEMPLATE.splitlines() if line.count(": "))
    found, problems = preferences.parse(spoken)
    assert (found, problems) == (
        preferences.Preferences(about={"distance_unit": "kilometers", "dietary": ["vegetarian"]}),
        (),
    )
