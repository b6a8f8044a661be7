"""Files in the workspace that outlive a summary: what it replaced, and where to look in it."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from marvin_server.agent.compaction import standing_for
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


def logs(workspace: Path) -> list[Path]:
    return list((workspace / ".marvin" / "logs").glob("context-backup-*"))


@pytest.fixture
def backups(workspace: Path) -> Backups:
    return Backups(
        Workspace(Root(workspace)), lambda text: text.replace("hunter2-hunter2", "***"), allowed=lambda: True
    )


async def test_a_backup_has_the_messages_without_secrets_and_the_index_says_what_they_are_about(
    backups: Backups, workspace: Path
) -> None:
    await backups.keep(GONE, compaction(1))
    (path,) = logs(workspace)
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
    assert len(logs(workspace)) == 1


async def test_a_dump_is_beneath_the_folder_of_memories_whatever_its_name(backups: Backups, workspace: Path) -> None:
    assert await backups.dump("../../a b.txt", "text hunter2-hunter2") == ".marvin/memories/dump-.._.._a_b.txt.txt"
    (kept,) = (workspace / ".marvin" / "memories").glob("dump-*")
    assert kept.read_text() == "text ***"


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
    (path,) = logs(workspace)
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    assert "swordfish" not in path.read_text() + index
    assert "left out: ./config/.env" in path.read_text()


@pytest.fixture
def lenient() -> Iterator[None]:
    """Files are for everybody unless it is said otherwise."""
    before = os.umask(0o002)
    yield
    os.umask(before)


async def test_what_is_kept_is_for_the_person_alone(backups: Backups, workspace: Path, lenient: None) -> None:
    await backups.keep(GONE, compaction(1))
    await backups.dump("long.txt", "text")
    await backups.keep(GONE, compaction(2))
    made = [workspace / ".marvin", *(workspace / ".marvin").rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}


async def test_folders_that_are_there_keep_their_permissions(backups: Backups, workspace: Path) -> None:
    folders = [workspace / ".marvin", workspace / ".marvin" / "logs"]
    for folder in folders:
        folder.mkdir()
        folder.chmod(0o755)
    await backups.keep(GONE, compaction(1))
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o755, 0o755]


async def test_it_is_in_no_commit_though_the_project_has_its_own_file_about_what_is(
    backups: Backups, workspace: Path
) -> None:
    (workspace / ".marvin").mkdir()
    (workspace / ".marvin" / ".gitignore").write_text("!*\n")
    await backups.keep(GONE, compaction(1))
    await backups.dump("long.txt", "text")
    assert added(workspace) == [".marvin/.gitignore"]
    assert (workspace / ".marvin" / ".gitignore").read_text() == "!*\n"


def added(workspace: Path) -> list[str]:
    """What git takes of the folder ``.marvin`` into a commit of everything."""
    for command in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(("git", *command), cwd=workspace, check=True)
    listed = subprocess.run(("git", "ls-files", ".marvin"), cwd=workspace, check=True, capture_output=True, text=True)
    return listed.stdout.split()


@pytest.mark.parametrize("theirs", ["", "!*\n", "# * is not wanted\n"])
async def test_nothing_is_kept_where_the_persons_own_file_lets_git_have_it(
    backups: Backups, workspace: Path, theirs: str
) -> None:
    ignoring = workspace / ".marvin" / "logs" / ".gitignore"
    ignoring.parent.mkdir(parents=True)
    ignoring.write_text(theirs)
    await backups.keep(GONE, compaction(1))
    assert (ignoring.read_text(), logs(workspace)) == (theirs, [])
    ignoring.write_text("*\r\n!README.md\r\n")
    await backups.keep(GONE, compaction(1))
    assert len(logs(workspace)) == 1


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".marvin", "src"),
        (".marvin/logs", "../src"),
        (".marvin/logs/.gitignore", "../../src/ignoring"),
        (".marvin/logs", "../new"),
    ],
)
async def test_a_link_within_the_workspace_leads_no_backup_astray(
    backups: Backups, workspace: Path, link: str, target: str
) -> None:
    (workspace / "src").mkdir()
    (workspace / "src" / "ignoring").write_text("*\n")
    (workspace / link).parent.mkdir(parents=True, exist_ok=True)
    (workspace / link).symlink_to(target)
    await backups.keep(GONE, compaction(1))
    assert [path.name for path in (workspace / "src").rglob("*")] == ["ignoring"]
    assert not (workspace / "new").exists()
    assert logs(workspace) == []


async def test_an_index_that_is_a_link_to_another_file_is_left_alone(backups: Backups, workspace: Path) -> None:
    (workspace / "basket.py").write_text("total = 0\n")
    index = workspace / ".marvin" / "memories" / "INDEX.md"
    index.parent.mkdir(parents=True)
    index.symlink_to("../../basket.py")
    await backups.keep(GONE, compaction(1))
    assert (workspace / "basket.py").read_text() == "total = 0\n"
    assert len(logs(workspace)) == 1


async def test_an_index_that_is_too_long_to_be_ours_is_left_alone(backups: Backups, workspace: Path) -> None:
    index = workspace / ".marvin" / "memories" / "INDEX.md"
    index.parent.mkdir(parents=True)
    index.write_text("## x\n" * 300_000)
    await backups.keep(GONE, compaction(1))
    assert index.stat().st_size == 1_500_000
    assert len(logs(workspace)) == 1


async def test_the_words_that_stand_around_a_summary_are_no_keywords(backups: Backups, workspace: Path) -> None:
    summary = standing_for(
        GONE, (), "The basket divides.", "written by m", edits=(), standing=(), words=100, message_id="m"
    )
    await backups.keep([summary], compaction(1))
    index = (workspace / ".marvin" / "memories" / "INDEX.md").read_text()
    (keywords,) = (line for line in index.partition("Keywords:\n")[2].splitlines() if line.startswith("- "))
    assert keywords == "- basket, divides, fail, ***"
