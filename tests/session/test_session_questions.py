"""What a session asks a person, and what becomes of the answer."""

from pathlib import Path

import pytest

from marvin_server.events import (
    PermissionRequested,
    PermissionResolved,
)
from marvin_server.messages import ToolCall
from tests.agent.scripted import Scripted, call
from tests.session.turns import Opener, finish, results, stop, turn, wait_for


async def test_a_question_waits_for_the_first_answer(opener: Opener, workspace: Path) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    assert asked.permission.command is not None
    assert (asked.permission.command.display, asked.permission.command.cwd) == ("touch made", str(workspace))
    assert not (workspace / "made").exists()
    assert opened.session.answer(asked.permission.id, "allow_once")
    assert not opened.session.answer(asked.permission.id, "deny")
    events = await finish(subscription)
    assert results(events) == [("run_command", "ok")]
    assert [e.by for e in events if isinstance(e, PermissionResolved)] == ["person"]
    assert (workspace / "made").exists()


async def test_an_answer_for_the_session_covers_the_same_command_only(opener: Opener) -> None:
    touch, other = call("run_command", '{"command": "true"}'), call("run_command", '{"command": "echo"}')
    opened = opener(Scripted([touch], [call("run_command", '{"command": "true"}')], [other], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    first = await wait_for(subscription, PermissionRequested)
    assert isinstance(first, PermissionRequested)
    opened.session.answer(first.permission.id, "allow_session")
    second = await wait_for(subscription, PermissionRequested)
    assert isinstance(second, PermissionRequested)
    assert second.permission.tool_call_id == other.id
    opened.session.answer(second.permission.id, "deny_and_stop")
    events = await finish(subscription)
    assert (results(events), stop(events)) == ([("run_command", "denied")], ("denied", None))


async def test_cancel_and_close_settle_an_open_question_as_denied(opener: Opener, workspace: Path) -> None:
    opened = opener(Scripted([call("run_command", '{"command": "touch made"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    await wait_for(subscription, PermissionRequested)
    await opened.session.close()
    events = await finish(subscription)
    assert [(e.decision, e.by) for e in events if isinstance(e, PermissionResolved)] == [("deny", "shutdown")]
    assert not (workspace / "made").exists()
    assert [event async for event in subscription] == []


@pytest.mark.parametrize(("approve", "status"), [("all", "ok"), ("rules", "denied"), ("none", "denied")])
async def test_without_a_person_the_approve_flag_decides(opener: Opener, approve: str, status: str) -> None:
    edit = call("create_file", '{"path": "new.txt", "content": "x"}')
    opened = opener(Scripted([edit, call("run_command", '{"command": "true"}')], ["ok"]), approve=approve)
    assert results(await turn(opened, "go")) == [("create_file", status), ("run_command", status)]


async def test_protected_names_stay_denied_when_everything_is_approved(opener: Opener, workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=secret\n")
    calls: list[ToolCall] = [
        call("read_file", '{"path": ".env"}'),
        call("create_file", '{"path": ".git/hooks/pre-commit", "content": "x"}'),
    ]
    opened = opener(Scripted(calls, ["ok"]), approve="all")
    events = await turn(opened, "go")
    assert results(events) == [("read_file", "denied"), ("create_file", "denied")]
    assert "secret" not in str(events)
    assert not (workspace / ".git").exists()


async def test_a_protected_name_is_read_after_a_yes(opener: Opener, workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=value\n")
    opened = opener(Scripted([call("read_file", '{"path": ".env"}')], ["ok"]))
    subscription = opened.session.subscribe()
    opened.session.submit("go")
    asked = await wait_for(subscription, PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    assert asked.permission.kind == "protected_path"
    opened.session.answer(asked.permission.id, "allow_once")
    assert results(await finish(subscription)) == [("read_file", "ok")]


async def test_readonly_sends_no_tool_that_changes_things_and_denies_one_all_the_same(opener: Opener) -> None:
    provider = Scripted([call("create_file", '{"path": "new.txt", "content": "x"}')], ["ok"])
    opened = opener(provider, approve="all", readonly=True)
    assert results(await turn(opened, "go")) == [("create_file", "denied")]
    assert "create_file" not in [tool.name for tool in provider.requests[0].tools]
