"""Inline completion: off unless asked for, one bounded model request, nothing is changed."""

import asyncio
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_server import paths
from marvin_server.messages import Usage
from marvin_server.session.store import Store
from marvin_server.session.usage import ModelUsage
from tests.lsp.conftest import Start
from tests.lsp.editor import Refused
from tests.lsp.plain_editor import PlainEditor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said
from tests.servers.scenarios import says

CAPABILITIES = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}
HERE = {"line": 1, "character": 11}


async def connect(start: Start, workspace: Path, name: str = "sum.py", *, wanted: bool = True) -> PlainEditor:
    options = {"initializationOptions": {"inlineCompletion": wanted}}
    plain = await PlainEditor.connect(await start(initialize=False), workspace, CAPABILITIES, **options)
    text = "def plus(a, b):\n    return \n\nprint(plus(1, 2))\n"
    document = {"uri": (workspace / name).as_uri(), "languageId": "python", "version": 1, "text": text}
    plain.editor.notify("textDocument/didOpen", {"textDocument": document})
    return plain


def params(plain: PlainEditor, kind: int = 1, name: str = "sum.py") -> Any:
    uri = (plain.workspace / name).as_uri()
    return {"textDocument": {"uri": uri}, "position": HERE, "context": {"triggerKind": kind}}


async def complete(plain: PlainEditor, **options: Any) -> Any:
    return await plain.editor.request("textDocument/inlineCompletion", params(plain, **options))


@pytest.mark.parametrize("kind", [1, 2])
async def test_the_text_around_the_cursor_is_completed(
    start: Start, workspace: Path, model_server: ThreadedModelServer, kind: int
) -> None:
    model_server.play([says("a ", "+ b")])
    plain = await connect(start, workspace)
    items = [{"insertText": "a + b", "range": {"start": HERE, "end": HERE}}]
    assert await complete(plain, kind=kind) == {"items": items}
    asked = model_server.requests[0].json["messages"][-1]["content"]
    assert "    return <cursor/>\n\nprint(plus" in str(asked)
    assert "tools" not in model_server.requests[0].json


async def test_nothing_is_asked_unless_the_person_wants_it(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    plain = await connect(start, workspace, wanted=False)
    assert await complete(plain) == {"items": []}
    assert not model_server.requests


@pytest.mark.parametrize("name", [".env", ".env/prod", "link/.env", "link/prod", "../outside.py", "out.py"])
async def test_secrets_and_what_is_outside_of_the_workspace_are_not_sent(
    start: Start, workspace: Path, model_server: ThreadedModelServer, name: str
) -> None:
    secrets = workspace / "secrets"
    for folder in (secrets, secrets / ".env"):
        folder.mkdir()
    (workspace.parent / "outside.py").touch()
    (workspace / "out.py").symlink_to(workspace.parent / "outside.py")
    if name == ".env":
        (secrets / "prod").touch()
        (workspace / ".env").symlink_to("secrets/prod")
    (workspace / "link").symlink_to("secrets/.env" if name == "link/prod" else "secrets")
    plain = await connect(start, workspace, name)
    assert await complete(plain, name=name) == {"items": []}
    assert not model_server.requests


async def test_a_cancelled_request_closes_the_connection(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("never",)), delivery=Delivery(gated=True))])
    plain = await connect(start, workspace)
    asked = plain.editor.ask("textDocument/inlineCompletion", params(plain))
    await asyncio.to_thread(model_server.wait_for_request)
    plain.editor.notify("$/cancelRequest", {"id": asked})
    with pytest.raises(Refused, match="cancelled"):
        await plain.editor.answer(asked)
    await asyncio.to_thread(model_server.wait_for_disconnect)


async def test_the_next_request_ends_the_one_before_it_unasked(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("a + b")])
    plain = await connect(start, workspace)
    first, second = (plain.editor.ask("textDocument/inlineCompletion", params(plain, 2)) for _ in range(2))
    with pytest.raises(Refused, match="cancelled"):
        await plain.editor.answer(first)
    assert (await plain.editor.answer(second))["items"]
    assert len(model_server.requests) == 1


async def test_a_long_completion_is_cut(start: Start, workspace: Path, model_server: ThreadedModelServer) -> None:
    model_server.play([says(*["x" * 100] * 100)])
    plain = await connect(start, workspace)
    assert len((await complete(plain))["items"][0]["insertText"]) == 2000


# The scripted model counts 12 tokens in and 5 out: a completion costs 1.7 dollars.
PRICE = "models: {test-model: {input: 100000, output: 100000}}\n"


def configure(home: Path, text: str) -> None:
    file = home / "marvin" / "config" / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def spent(plain: PlainEditor) -> list[ModelUsage]:
    """What all requests have used, once the server has left."""
    assert await plain.editor.leave() == 0
    with closing(Store.open(paths.find(dict(os.environ)).database("default"))) as store:
        return store.spending.by_model()


async def warnings(plain: PlainEditor) -> list[str]:
    """What the editor's log was told of completions, once the server has answered all that it was asked."""
    await plain.editor.request("shutdown")
    said = [one["params"]["message"] for one in plain.editor.messages if one.get("method") == "window/logMessage"]
    return [line for line in said if "inline completion" in line]


async def test_a_completion_is_counted_with_what_it_cost(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer
) -> None:
    configure(home, PRICE)
    model_server.play([says("a + b"), says("a - b")])
    plain = await connect(start, workspace)
    assert [(await complete(plain))["items"][0]["insertText"] for _ in range(2)] == ["a + b", "a - b"]
    assert await spent(plain) == [
        ModelUsage(2, Usage(24, 10), 3.4, provider="openai-compat", model="test-model"),
    ]


@pytest.mark.parametrize("is_cut", [True, False])
async def test_what_was_cut_or_cancelled_counts_by_an_estimate(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer, *, is_cut: bool
) -> None:
    configure(home, PRICE)
    model_server.play([says(*["x" * 100] * 100) if is_cut else Reply(Said(("never",)), delivery=Delivery(gated=True))])
    plain = await connect(start, workspace)
    asked = plain.editor.ask("textDocument/inlineCompletion", params(plain))
    await asyncio.to_thread(model_server.wait_for_request)
    if is_cut:
        await plain.editor.answer(asked)
    [used] = await spent(plain)
    assert (used.requests, used.unpriced) == (1, 0)
    assert 50 < used.usage.input < 100
    assert (used.usage.output > 400) == is_cut


@pytest.mark.parametrize("budget", ["day: 2", "session: 2"])
async def test_a_cap_holds_for_completions_and_is_told_once(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer, budget: str
) -> None:
    configure(home, f"{PRICE}budget: {{{budget}}}\n")
    model_server.play([says("a + b"), says("a - b"), says("never")])
    plain = await connect(start, workspace)
    answers = [await complete(plain) for _ in range(4)]
    assert [len(answer["items"]) for answer in answers] == [1, 1, 0, 0]
    near, reached = await warnings(plain)
    assert "the cost limit is near" in near
    assert "the cost limit is reached" in reached
    assert len(model_server.requests) == 2


async def test_under_a_cap_a_model_of_unknown_price_completes_nothing(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer
) -> None:
    configure(home, "budget: {day: 2}\n")
    plain = await connect(start, workspace)
    assert [await complete(plain) for _ in range(2)] == [{"items": []}] * 2
    [line] = await warnings(plain)
    assert "the price of test-model is unknown" in line
    assert not model_server.requests
