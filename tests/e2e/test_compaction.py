"""A conversation that is too long for the model, as the command line shows it and as kill -9 leaves it."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_server.messages import Message, Text, user_message
from marvin_server.session.store import Store
from tests.e2e.command import Marvin
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said
from tests.servers.scenarios import says

ASK = ("--non-interactive", "--continue", "--prompt", "And now?")
PROMPTS = 20


@pytest.fixture
def database(home: Path, tmp_path: Path) -> Path:
    """The store of a person whose one session is nearly too long for their model."""
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("models:\n  test-model: {context: 16000}\nsmall_model: tiny-model\n")
    path = home / "marvin" / "data" / "profiles" / "default" / "marvin.db"
    path.parent.mkdir(parents=True)
    store = Store.open(path)
    session = store.create_session(str(tmp_path), "openai-compat", "test-model")
    head = None
    for number in range(PROMPTS):
        for message in (
            user_message(f"Prompt {number}: {'some words ' * 330}"),
            Message("assistant", (Text(f"Answer {number}."),)),
        ):
            store.append(session.id, message, head)
            head = message.id
    store.close()
    return path


def writes_summaries(summary: Reply, answer: Reply) -> Callable[[Any, int], Reply]:
    return lambda body, _number: summary if "You write the memory of Marvin" in json.dumps(body) else answer


def test_a_pipeline_is_told_in_one_line_what_became_of_the_conversation(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], database: Path
) -> None:
    model_server.play(writes_summaries(says("## Task\nGo on."), says("Well.")))
    done = marvin(*ASK, env=model_environ)
    assert (done.exit_code, done.stdout) == (0, "Well.\n"), done.stderr
    assert "earlier messages were summarised by test-model: about " in done.stderr
    assert [request.json["model"] for request in model_server.requests] == ["tiny-model", "test-model"]
    assert done.cost is not None
    assert done.cost["llm_turns"] == 2


def test_a_program_gets_the_summary_as_an_event(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], database: Path
) -> None:
    model_server.play(writes_summaries(says("## Task\nGo on."), says("Well.")))
    done = marvin(*ASK, "--output", "stream-json", env=model_environ)
    (event,) = [each for line in done.stdout.splitlines() if (each := json.loads(line))["type"] == "compaction"]
    assert event["message"]["role"] == "user"
    assert event["reason"] == "budget"
    assert event["tokensAfter"] < event["tokensBefore"]


def test_killed_while_the_summary_is_written_nothing_has_changed(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], database: Path
) -> None:
    hanging = Reply(Said(("## Task", "\nGo on.")), delivery=Delivery(stall_after=1))
    model_server.play(writes_summaries(hanging, says("Well.")))
    running = marvin.start(*ASK, env=model_environ)
    assert model_server.wait_for_request().json["model"] == "tiny-model"
    running.send_signal(signal.SIGKILL)
    running.wait()
    store = Store.open(database)
    (record,) = store.sessions()
    assert store.compactions.holding(record.head) is None
    assert [message.said for message in store.history(record.id)][-1] == "And now?"
    store.close()
    model_server.play(writes_summaries(says("## Task\nGo on."), says("Well.")))
    again = marvin(*ASK, env=model_environ)
    assert (again.exit_code, again.stdout) == (0, "Well.\n"), again.stderr


def test_killed_once_the_summary_is_shown_the_next_run_goes_on_with_it(
    marvin: Marvin, model_server: ThreadedModelServer, model_environ: dict[str, str], database: Path
) -> None:
    hanging = Reply(Said(("Well", ".")), delivery=Delivery(stall_after=1))
    model_server.play(writes_summaries(says("## Task\nGo on."), hanging))
    running = marvin.start(*ASK, "--output", "stream-json", env=model_environ)
    running.read_until('"type": "compaction"')
    running.send_signal(signal.SIGKILL)
    running.wait()
    model_server.play([says("Here again.")])
    again = marvin(*ASK, env=model_environ)
    assert (again.exit_code, again.stdout) == (0, "Here again.\n"), again.stderr
    sent = model_server.requests[-1].json["messages"]
    assert "## Task\nGo on." in json.dumps(sent[1]).replace("\\n", "\n")
    store = Store.open(database)
    (record,) = store.sessions()
    assert len(store.history(record.id)) >= 2 * PROMPTS + 3, "all that was said is there"
    store.close()
