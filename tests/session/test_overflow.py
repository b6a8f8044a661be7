"""A vendor refuses a conversation as too long, in the words of every wire API: it goes on with a summary."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from marvin_server import settings
from marvin_server.events import Compacted
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.store import Store
from tests.providers.hazards import OVERFLOWS
from tests.providers.wire_apis import WIRE_APIS, WireApi
from tests.servers.model_server import ModelServer
from tests.servers.reply import Reply
from tests.servers.scenarios import says
from tests.session.turns import finish, stop

_MOST = 40_000  # bytes of a request that the server takes
RULE = "Every answer ends with a joke."


@pytest.mark.parametrize("api", WIRE_APIS.values(), ids=WIRE_APIS)
async def test_it_goes_on_with_a_summary_and_the_same_instructions(
    api: WireApi, store: Store, workspace: Path, tmp_path: Path
) -> None:
    def answer(body: Any, _number: int) -> Reply:
        text = json.dumps(body)
        if len(text) > _MOST:
            return Reply(OVERFLOWS[api.name].encode(), status=400, content_type="application/json")
        return says("## Task\nTell jokes." if "You write the memory of Marvin" in text else "A joke.")

    (workspace / "AGENTS.md").write_text(RULE)
    environ = {"MARVIN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    loaded = dataclasses.replace(settings.load({}, environ), trust=True)
    async with ModelServer(answer) as server, api.connected(server.url) as provider:
        opened = open_session(loaded, Choice(provider, free=True), store, workspace, rounds=10)
        subscription = opened.session.subscribe()
        compacted: list[Compacted] = []
        for number in range(12):
            opened.session.submit(f"Joke {number}, please. {'A long story. ' * 400}")
            events = await finish(subscription)
            assert stop(events) == ("completed", None), events[-1]
            compacted += [event for event in events if isinstance(event, Compacted)]
        await opened.session.close()
        taken = [json.dumps(request.json) for request in server.requests if request.path.endswith(api.format.path)]
    assert [event.reason for event in compacted] == ["overflow", *["budget"] * (len(compacted) - 1)]
    assert len(taken) == 12 + 1 + len(compacted), "what the vendor reads is remembered"
    assert {event.note for event in compacted} == {None}
    turns = [text for text in taken if len(text) <= _MOST and "You write the memory" not in text]
    assert len(turns) == 12
    assert all(RULE in text for text in turns)
    assert "Joke 0, please." in turns[-1]
    assert "Tell jokes." in turns[-1]
