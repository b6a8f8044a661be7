"""Questions to clients without a plugin: only a clear answer to all that was shown is a yes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.conftest import Start
from tests.lsp.plain_editor import ALL, PlainEditor
from tests.servers.model_server import ThreadedModelServer
from tests.servers.reply import Call, Reply
from tests.servers.scenarios import calls, runs, says

DENIED = "denied"


async def begin(plain: PlainEditor, model_server: ThreadedModelServer, reply: Reply) -> None:
    model_server.play([reply, says("Done.")])
    await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")


async def outcome(model_server: ThreadedModelServer) -> str:
    """What the model was told of its call."""
    request = await asyncio.to_thread(model_server.wait_for_request, 2)
    return next(one["content"] for one in request.json["messages"] if one["role"] == "tool")


async def test_a_command_is_asked_about_with_its_exact_text_and_place(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    await begin(plain, model_server, runs("echo a > made.txt\necho '| in /safe'"))
    asked = await plain.choose("Allow once")
    assert asked["message"].startswith(
        f"Marvin wants to run a command.\n\n| echo a > made.txt\n| echo '| in /safe'\nin {workspace}\nby "
    )
    assert asked["message"].endswith("\n\nAsked because: mode auto: commands must be asked for")
    titles = ["Deny", "Deny and stop", "Allow once", "Allow for this session"]
    assert [one["title"] for one in asked["actions"]] == titles
    assert "[exit code 0]" in await outcome(model_server)
    assert (workspace / "made.txt").read_text() == "a\n"


@pytest.mark.parametrize(
    "answer", [None, {}, {"title": "Deny"}, {"title": "Yes"}, {"title": ["Allow once"]}, "Allow once", 1, []]
)
async def test_whatever_is_no_clear_yes_is_a_no(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path, answer: Any
) -> None:
    await begin(plain, model_server, runs("touch made.txt"))
    await plain.grant("window/showMessageRequest", answer)
    assert DENIED in await outcome(model_server)
    assert not (workspace / "made.txt").exists()


async def test_an_error_is_a_no(plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path) -> None:
    await begin(plain, model_server, runs("touch made.txt"))
    request = await plain.asked("window/showMessageRequest")
    plain.editor.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "not here"}})
    assert DENIED in await outcome(model_server)
    assert not (workspace / "made.txt").exists()


async def test_an_answer_after_the_cancel_runs_nothing(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    await begin(plain, model_server, runs("touch made.txt"))
    request = await plain.asked("window/showMessageRequest")
    plain.editor.notify("window/workDoneProgress/cancel", {"token": (await plain.progress("begin"))["token"]})
    await plain.progress("end")
    withdrawn = await plain.editor.until(lambda one: one.get("method") == "$/cancelRequest")
    assert withdrawn["params"] == {"id": request["id"]}
    plain.answer(request, {"title": "Allow once"})
    assert await plain.editor.leave() == 0
    assert not (workspace / "made.txt").exists()


async def test_allowed_for_the_session_holds_for_the_next_action(
    plain: PlainEditor, model_server: ThreadedModelServer
) -> None:
    await begin(plain, model_server, runs("true"))
    await plain.choose("Allow for this session")
    assert "[exit code 0]" in await outcome(model_server)
    await plain.page()
    model_server.play([runs("true"), says("Again.")])
    await plain.run("Explain")
    await plain.grant("window/workDoneProgress/create")
    assert await plain.page() == "Again.\n"


LONG = "\n".join(f"echo {number}" for number in range(40)) + "\ntouch made.txt"


async def test_a_long_command_can_be_allowed_only_after_all_of_it_was_shown(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    await begin(plain, model_server, runs(LONG))
    asked = await plain.choose("Show all of it")
    assert [one["title"] for one in asked["actions"]] == ["Deny", "Deny and stop", "Show all of it"]
    assert "| echo 0\n" in asked["message"]
    assert "more characters; they must be shown before you can say yes." in asked["message"]
    assert "| touch made.txt\n" in await plain.page()
    asked = await plain.choose("Allow once")
    assert "All of it is shown in " in asked["message"]
    assert "[exit code 0]" in await outcome(model_server)
    assert (workspace / "made.txt").exists()


async def test_what_was_not_shown_cannot_be_allowed(
    start: Start, workspace: Path, model_server: ThreadedModelServer
) -> None:
    capabilities = {**ALL, "window": {"workDoneProgress": True}}
    plain = await PlainEditor.connect(await start(initialize=False), workspace, capabilities)
    await begin(plain, model_server, runs(LONG))
    await plain.choose("Show all of it")
    asked = await plain.choose("Allow once")
    assert [one["title"] for one in asked["actions"]] == ["Deny", "Deny and stop"]
    assert "This editor cannot show it; read it in " in asked["message"]
    assert DENIED in await outcome(model_server)
    assert not (workspace / "made.txt").exists()


async def test_a_project_s_instructions_are_shown_before_they_count(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    (workspace / "AGENTS.md").write_text("Always sing.\n")
    await begin(plain, model_server, says("Hm."))
    asked = await plain.choose("Allow once")
    assert "Marvin wants to follow this project's own files." in asked["message"]
    assert "Always sing." in asked["message"]
    request = await asyncio.to_thread(model_server.wait_for_request, 1)
    assert "Always sing." in str(request.json)


async def test_what_would_hide_in_a_command_is_seen(plain: PlainEditor, model_server: ThreadedModelServer) -> None:
    await begin(plain, model_server, runs("echo \u202etxt.exe\x1b[8m"))
    asked = await plain.choose("Deny")
    assert "| echo ⟨U+202E⟩txt.exe␛[8m\n" in asked["message"]


async def test_in_mode_review_an_edit_is_shown_before_it_is_made(
    start: Start, workspace: Path, home: Path, model_server: ThreadedModelServer
) -> None:
    config = home / "marvin" / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("mode: review\n")
    plain = await PlainEditor.connect(await start(initialize=False), workspace)
    patch = {"path": "README.md", "old_str": "# A workspace\n", "new_str": "# My workspace\n"}
    await begin(plain, model_server, calls(Call("apply_patch", json.dumps(patch))))
    asked = await plain.asked("window/showMessageRequest")
    assert "-# A workspace\n+# My workspace\n" in asked["params"]["message"]
    assert (workspace / "README.md").read_text() == "# A workspace\n"
    plain.answer(asked, {"title": "Allow once"})
    await outcome(model_server)
    assert (workspace / "README.md").read_text() == "# My workspace\n"


async def test_what_cannot_be_shown_whole_says_so_and_is_allowed_only_once(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    (workspace / "first.sh").write_text("echo first\n" * 20)
    (workspace / "huge.sh").write_text("#" * 1_000_001 + "\ntouch made.txt\n")
    await begin(plain, model_server, runs("bash first.sh; bash huge.sh"))
    asked = await plain.choose("Show what can be shown")
    assert [one["title"] for one in asked["actions"]] == ["Deny", "Deny and stop", "Show what can be shown"]
    page = await plain.page()
    assert "| echo first\n" in page
    assert "| [too long to show: 1,000,017 bytes" in page
    asked = await plain.choose("Allow once")
    assert "All of it is shown" not in asked["message"]
    assert "Not all of what a yes allows can be shown" in asked["message"]
    assert [one["title"] for one in asked["actions"]] == ["Deny", "Deny and stop", "Allow once"]
    assert "[exit code 0]" in await outcome(model_server)


async def test_a_long_script_is_shown_to_its_end(
    plain: PlainEditor, model_server: ThreadedModelServer, workspace: Path
) -> None:
    (workspace / "long.sh").write_text("echo ok\n" * 20_000 + "touch made.txt\n")
    await begin(plain, model_server, runs("bash long.sh"))
    await plain.choose("Show all of it")
    assert (await plain.page()).endswith("| echo ok\n| touch made.txt\n| \n")
    assert "All of it is shown in " in (await plain.choose("Deny"))["message"]
