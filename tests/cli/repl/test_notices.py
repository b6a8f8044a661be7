"""What a person is told who has looked away, and what is new on the topics that they follow."""

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from marvin_cli.repl.notification import Notification

from marvin_server.events import TurnFinished
from marvin_server.messages import Usage
from marvin_server.profiles.preferences import Preferences
from tests.cli.repl.conftest import Open
from tests.patience import SECONDS

END = TurnFinished("t", "completed", Usage())


class Topics(ThreadingHTTPServer):
    """An ntfy server, as docs.ntfy.sh describes polling; ``hangs`` answers nothing until it is closed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.messages: dict[str, list[dict[str, str]]] = {}
        self.asked: list[str] = []
        self.published: list[tuple[str, str, str]] = []
        self.hangs = False
        self.closing = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answer(BaseHTTPRequestHandler):
    @property
    def _topics(self) -> Topics:
        assert isinstance(self.server, Topics)
        return self.server

    def do_GET(self) -> None:
        self._topics.asked.append(self.path)
        if self._topics.hangs:
            self._topics.closing.wait(SECONDS)
        url = urlsplit(self.path)
        since = parse_qs(url.query)["since"][0]
        all_messages = self._topics.messages.get(url.path.split("/")[1], [])
        known = [each["id"] for each in all_messages]
        found = all_messages[known.index(since) + 1 :] if since in known else all_messages
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"".join(json.dumps({"event": "message", **each}).encode() + b"\n" for each in found))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._topics.published.append((self.path, self.headers["Title"], body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def topics() -> Iterator[Topics]:
    server = Topics()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def followed(home: Path, topics: Topics) -> Path:
    config = home / "marvin" / "config"
    (config / "profiles" / "default").mkdir(parents=True)
    (config / "config.yaml").write_text(f"ntfy_server: {topics.url}\n")
    file = config / "profiles" / "default" / "ntfy_subscriptions.json"
    file.write_text('[{"topic": "builds", "lastMessageId": "m1", "note": "mine"}, {"topic": "empty"}]')
    return file


async def test_what_is_new_is_shown_once_before_the_answer(terminal: Open, topics: Topics, followed: Path) -> None:
    topics.messages["builds"] = [{"id": f"m{n}", "title": "CI", "message": f"build {n}\x1b[2J"} for n in (1, 2)]
    opened = await terminal()
    opened.view.enter("hello")
    await opened.view.turns(1)
    assert opened.view.lines.index("note: 🔔 builds: CI: build 2␛[2J") < opened.view.lines.index("> hello")
    assert json.loads(followed.read_text())[0] == {"topic": "builds", "lastMessageId": "m2", "note": "mine"}
    opened.view.enter("again")
    await opened.view.turns(2)
    assert sum("🔔" in line for line in opened.view.lines) == 1


async def test_a_topic_is_followed_listed_and_left(terminal: Open, topics: Topics, followed: Path) -> None:
    opened = await terminal()
    opened.view.enter("/subscribe news", "/subscribe news", "/subscribe")
    listed = await opened.view.said(f"output: builds  {topics.url}/builds")
    assert [line.partition("  ")[0] for line in listed.splitlines()] == ["output: builds", "empty", "news"]
    opened.view.chosen.append("empty")
    opened.view.enter("/unsubscribe builds", "/unsubscribe")
    await opened.view.said("You follow empty no more")
    assert json.loads(followed.read_text()) == [{"topic": "news"}]
    topics.messages["news"] = [{"id": "n1", "message": "hi"}]
    opened.view.enter("hello")
    assert await opened.view.said("🔔 news: hi")


async def test_a_server_that_does_not_answer_holds_up_nothing_for_long(
    terminal: Open, topics: Topics, followed: Path
) -> None:
    topics.hangs = True
    opened = await terminal()
    opened.view.enter("hello")
    await opened.view.turns(1)
    assert topics.asked
    assert not any("error" in line for line in opened.view.lines)


async def test_a_long_turn_is_told_on_the_desktop(tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {told}\n')
    program.chmod(0o755)
    environ = {**os.environ, "DISPLAY": ":0", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    notification = Notification(lambda: Preferences(notify="desktop"), environ, None)
    notification.tell(END, "short", 1.0)
    await notification.settle()
    assert not told.exists()
    notification.tell(END, "The answer\nis --42", 60.0)
    await notification.settle()
    assert told.read_text() == "--app-name=marvin|--|Marvin: completed|The answer is --42|"


async def test_every_turn_is_published_where_that_was_asked_for(topics: Topics) -> None:
    notification = Notification(lambda: Preferences(notify="off"), os.environ, (topics.url, "mine"))
    notification.tell(END, "42", 0.1)
    await notification.settle()
    assert topics.published == [("/mine", "Marvin: completed", "42")]
