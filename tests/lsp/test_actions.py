"""Code actions for clients without a plugin: offered at once, begun at once, told by the editor's own means."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.editor import Refused
from tests.lsp.plain_editor import ALL, PlainEditor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Delivery, Reply, Said, Tokens
from tests.servers.scenarios import says, status

DIAGNOSTIC = {
    "range": {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 5}},
    "message": "this is wrong",
    "severity": 1,
    "source": "checker",
}


@pytest.fixture
async def plain(start: Start, workspace: Path) -> PlainEditor:
    return await PlainEditor.connect(await start(initialize=False), workspace)


def titles(actions: list[Any]) -> dict[str, str | None]:
    """Each action's title with why it is disabled."""
    return {one["title"].removeprefix("Marvin: "): one.get("disabled", {}).get("reason") for one in actions}


async def test_all_actions_are_offered_without_a_model_call(
    plain: PlainEditor, model_server: ThreadedModelServer
) -> None:
    assert titles(await plain.actions(context={"diagnostics": [DIAGNOSTIC]})) == {
        "Explain": None,
        "Fix": None,
        "Write tests": None,
        "Document": None,
        "Refactor": None,
        "Commit message": "the folder is not in a git repository",
    }
    assert not model_server.requests


@pytest.mark.parametrize("has_history", [True, False])
async def test_what_cannot_be_done_is_left_out_for_a_client_that_shows_no_reasons(
    start: Start, workspace: Path, *, has_history: bool
) -> None:
    if has_history:
        (workspace / ".git").mkdir()
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}}}
    plain = await PlainEditor.connect(
        await start(initialize=False), workspace, {"textDocument": {"codeAction": literals}}
    )
    names = ("Explain", "Fix", "Write tests", "Document", "Refactor", *(("Commit message",) * has_history))
    assert titles(await plain.actions()) == dict.fromkeys(names)


async def test_mode_plan_offers_only_what_changes_nothing(start: Start, workspace: Path, home: Path) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("mode: plan\n")
    plain = await PlainEditor.connect(await start(initialize=False), workspace)
    offered = titles(await plain.actions())
    assert {name for name, reason in offered.items() if reason is None} == {"Explain"}
    assert offered["Refactor"] == "nothing is changed in mode plan"


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (["quickfix"], ["quickfix"]),
        (["refactor"], ["refactor.rewrite.marvin.document", "refactor.rewrite.marvin"]),
        (["source.marvin"], ["source.marvin"]),
        (["source.organizeImports"], []),
        (["refactor.rewrite.marvinelse"], []),
    ],
)
async def test_only_the_kinds_that_are_asked_for_are_offered(
    plain: PlainEditor, only: list[str], kinds: list[str]
) -> None:
    offered = await plain.actions(context={"only": only, "diagnostics": [DIAGNOSTIC]})
    assert [one["kind"] for one in offered] == kinds


async def test_an_editor_that_asks_by_itself_is_offered_a_fix_or_nothing(plain: PlainEditor) -> None:
    assert await plain.actions(context={"triggerKind": 2}) == []
    offered = await plain.actions(context={"triggerKind": 2, "diagnostics": [DIAGNOSTIC]})
    assert titles(offered) == {"Fix": None}
    assert offered[0]["diagnostics"] == [DIAGNOSTIC]


async def test_a_client_without_literals_gets_commands(start: Start, workspace: Path) -> None:
    plain = await PlainEditor.connect(await start(initialize=False), workspace, {})
    assert (await plain.actions())[0] == {
        "title": "Marvin: Explain",
        "command": "marvin.explain",
        "arguments": [
            {
                "uri": (workspace / "README.md").as_uri(),
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}},
            }
        ],
    }


async def test_an_explanation_is_shown_as_a_private_page(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    model_server.play([says("It is a **title**.")])
    begun = await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")
    assert (await plain.progress("begin"))["value"] == {
        "kind": "begin",
        "title": "Marvin: Explain README.md:1",
        "cancellable": True,
    }
    assert await plain.page() == "It is a **title**.\n"
    assert (await plain.progress("end"))["value"] == {"kind": "end", "message": "It is a **title**."}
    assert set(begun) == {"sessionId", "turnId"}
    assert "It is about README.md:1." in str(model_server.requests[0].json)
    assert not [one for one in plain.editor.messages if str(one.get("method")).startswith("marvin/")]


async def test_a_fix_is_told_what_the_editor_shows(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    await plain.run("Fix", diagnostics=[DIAGNOSTIC])
    request = await _request(model_server)
    assert "- line 1: error: this is wrong (checker)" in request


async def test_without_show_document_the_path_is_told(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    model_server.play([says("A title.")])
    capabilities = {"textDocument": ALL["textDocument"]}
    plain = await PlainEditor.connect(await start(initialize=False), workspace, capabilities)
    await plain.run("Explain")
    told = await plain.message()
    page = Path(told["message"].rpartition(" is in ")[2])
    assert told["type"] == 3
    assert page.read_text() == "A title.\n"


async def test_a_failed_turn_says_once_what_to_do(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    model_server.play([status(401)])
    await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")
    told = await plain.message()
    assert told["type"] == 1
    assert told["message"].startswith("Marvin: Explain README.md:1 failed: ")
    assert (await plain.progress("end"))["value"]["message"] == "failed"
    assert len([one for one in plain.editor.messages if one.get("method") == "window/showMessage"]) == 1


async def test_the_editor_s_cancel_button_ends_the_turn(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    model_server.play([Reply(Said(("never", " shown")), delivery=Delivery(gated=True))])
    await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")
    token = (await plain.progress("begin"))["token"]
    await _request(model_server)
    plain.editor.notify("window/workDoneProgress/cancel", {"token": token})
    assert (await plain.progress("end"))["value"]["message"] == "cancelled"


async def test_a_token_of_the_client_s_is_used(plain: PlainEditor, workspace: Path) -> None:
    argument = {"uri": (workspace / "README.md").as_uri()}
    await plain.editor.request(
        "workspace/executeCommand", {"command": "marvin.explain", "arguments": [argument], "workDoneToken": 7}
    )
    assert (await plain.progress("begin"))["token"] == 7


async def test_a_second_action_waits_and_knows_the_first(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    model_server.play([says("First."), says("Second.")])
    first, second = await plain.run("Explain"), await plain.run("Explain")
    assert first["sessionId"] == second["sessionId"]
    assert first["turnId"] != second["turnId"]
    for _ in range(2):
        await plain.grant("window/workDoneProgress/create")
    assert {await plain.page(), await plain.page()} == {"First.\n", "Second.\n"}
    assert "First." in str(model_server.requests[1].json)


async def test_a_long_conversation_is_followed_by_a_new_one(
    plain: PlainEditor, model_server: ThreadedModelServer
) -> None:
    model_server.play([Reply(Said(("Long.",), Tokens(50_000, 5)))])
    first = await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")
    await plain.page()
    await plain.progress("end")
    assert (await plain.run("Explain"))["sessionId"] != first["sessionId"]


@pytest.mark.parametrize(
    ("params", "says_so"),
    [
        ({"command": "marvin.sing"}, "there is no command 'marvin.sing'; there are marvin.explain"),
        ({"command": "marvin.explain"}, "choose it from the code actions"),
        ({"command": "marvin.explain", "arguments": [{"uri": "untitled:1"}]}, "save it as one first"),
        ({"command": "marvin.explain", "arguments": [{"url": "?"}]}, "uri: it is missing"),
    ],
)
async def test_a_command_that_cannot_be_run_says_why(plain: PlainEditor, params: Any, says_so: str) -> None:
    with pytest.raises(Refused, match=says_so) as refused:
        await plain.editor.request("workspace/executeCommand", params)
    assert refused.value.code == -32602


async def _request(model_server: ThreadedModelServer) -> str:
    import asyncio

    return str((await asyncio.to_thread(model_server.wait_for_request)).json)
