"""Files in the workspace that outlive a summary: what it replaced, and where to look in it."""

import json
from pathlib import Path

import pytest

from marvin_server.events import Compacted
from marvin_server.messages import Message, Text, ToolCall, ToolResult, user_message
from marvin_server.session.backups import Backups
from marvin_server.workspace.confine import Root
from marvin_server.workspace.workspace import Workspace

GONE = [
    user_message("Why does src/basket.py fail? The key is hunter2-hunter2."),
    Message("assistant", (Text("I look."), ToolCall("c", "read_file", '{"path": "src/basket.py"}'))),
    Message("tool", (ToolResult("c", "read_file", "no such file: basket failed", "error"),)),
    Message("assistant", (Text("The basket fails because total divides by zero.\nBaskets are fine otherwise."),)),
]


def compaction(number: int) -> Compacted:
    return Compacted(f"{number:026d}", None, 4, None, 1, 1, "person")


@pytest.fixture
def backups(workspace: Path) -> Backups:
    return Backups(
        Workspace(Root(workspace)), lambda text: text.replace("hunter2-hunter2", "***"), allowed=lambda: True
    )


async def test_a_backup_has_the_messages_without_secrets_and_the_index_says_what_they_are_about(
    backups: Backups, workspace: Path
) -> None:
    await backups.keep(GONE, compaction(1))
    (path,) = (workspace / ".marvin" / "logs").iterdir()
    lines = path.read_text().splitlines()
    assert [json.loads(line)["role"] for line in lines] == ["user", "assistant", "tool", "assistant"]
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    assert "hunter2" not in path.read_text() + index
    asked, files, keywords, findings = (part.partition("\n\n")[0] for part in index.split(":\n-")[1:])
    assert "Why does src/basket.py fail?" in asked
    assert files.split() == ["src/basket.py"]
    assert "basket" in keywords
    assert "The basket fails because total divides by zero." in findings
    assert "no such file: basket failed" in findings
    assert "Baskets are fine" not in findings


async def test_the_index_holds_the_latest_sections(backups: Backups, workspace: Path) -> None:
    for number in range(60):
        await backups.keep(GONE, compaction(number))
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    assert index.startswith("# What was said before")
    assert index.count("\n## ") == 50
    assert f"-{59:06d}.jsonl" in index
    assert f"-{9:06d}.jsonl" not in index


async def test_what_a_person_wrote_into_the_index_does_not_stop_it(backups: Backups, workspace: Path) -> None:
    index = workspace / ".marvin" / "memories" / "INDEX.md"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"\xff\xfe not text \x00")
    await backups.keep(GONE, compaction(1))
    assert index.read_bytes() == b"\xff\xfe not text \x00"
    assert len(list((workspace / ".marvin" / "logs").iterdir())) == 1


async def test_a_dump_is_beneath_the_folder_of_memories_whatever_its_name(backups: Backups, workspace: Path) -> None:
    assert await backups.dump("../../a b.txt", "text hunter2-hunter2") == ".marvin/memories/dump-.._.._a_b.txt.txt"
    (kept,) = (workspace / ".marvin" / "memories").iterdir()
    assert kept.read_text() == "text ***"
    assert (workspace / ".marvin" / ".gitignore").read_text() == "*\n"


async def test_what_else_is_in_the_index_stays_there(backups: Backups, workspace: Path) -> None:
    index = workspace / ".marvin" / "memories" / "INDEX.md"
    index.parent.mkdir(parents=True)
    index.write_text("# My own\n\n- a thought\n\n## Decisions\n\nTabs.")
    for number in range(52):
        await backups.keep(GONE, compaction(number))
    text = index.read_text()
    assert text.startswith("# My own\n\n- a thought\n\n## Decisions\n\nTabs.\n\n## 2")
    assert text.count("\n## 2") == 50


async def test_what_may_be_read_only_after_a_question_is_not_dumped(backups: Backups, workspace: Path) -> None:
    assert await backups.dump(".env", "TOKEN=1") is None
    assert not (workspace / ".marvin").exists()


async def test_a_backup_has_nothing_of_what_may_be_read_only_after_a_question(
    backups: Backups, workspace: Path
) -> None:
    read = [
        Message("assistant", (ToolCall("c", "read_file", '{"path": "./config/.env"}'),)),
        Message("tool", (ToolResult("c", "read_file", "TOKEN=swordfish failed"),)),
    ]
    await backups.keep([*GONE, *read], compaction(1))
    (path,) = (workspace / ".marvin" / "logs").iterdir()
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    assert "swordfish" not in path.read_text() + index
    assert "left out: ./config/.env" in path.read_text()
