"""What the judge says of a path that a tool has met."""

from pathlib import Path

import pytest

from marvin_server.agent.judge import Judge
from marvin_server.agent.permissions import Policy
from marvin_server.agent.rules import Rules
from marvin_server.config_file import PermissionEntry
from marvin_server.errors import PermissionNeeded
from marvin_server.messages import ToolCall
from marvin_server.tools.registry import PreparedCall, Registry


@pytest.mark.parametrize(("edit", "verdict"), [("allow", "allow"), ("ask", "ask"), ("deny", "deny")])
def test_a_freedom_to_read_is_none_to_edit(tmp_path: Path, edit: str, verdict: str) -> None:
    registry = Registry.load(tmp_path, tmp_path)
    prepared = registry.prepare(ToolCall("1", "create_file", '{"path": "a", "content": ""}'))
    assert isinstance(prepared, PreparedCall)
    entries = [PermissionEntry("allow", "read(**)", "x:1")]
    entries += [PermissionEntry(name, "edit(*.lock)", "x:2") for name in ("allow", "ask", "deny") if name == edit]
    judge = Judge(Policy, Rules(entries, ("create_file",)), 0)
    needed = PermissionNeeded("protected_path", "uv.lock", "a rule asks")
    assert judge.for_path(prepared, needed).verdict == verdict
