"""A person at an editor that saves when it is asked to, and a model that calls tools."""

import json
from typing import Any

import pytest

from tests.lsp.buffers import CAPABILITIES, Buffers
from tests.lsp.conftest import Start
from tests.lsp.editor import Editor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls

MARVIN: dict[str, Any] = {"protocolVersion": 1, "documentSave": {}}


@pytest.fixture
async def editor(start: Start) -> Editor:
    editor = await start(initialize=False)
    await editor.initialize(capabilities={**CAPABILITIES, "experimental": {"marvin": MARVIN}})
    return editor


@pytest.fixture
def person(editor: Editor) -> Buffers:
    person = Buffers(editor.send)
    editor.on_message = person.receive
    return person


def call(tool: str, **arguments: Any) -> Reply:
    return calls(Call(tool, json.dumps(arguments)))


def answers(server: ThreadedModelServer) -> list[str]:
    """What the tools have told the model."""
    return [message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"]
