"""Files whose names are not UTF-8 are looked at, asked for and left out like all others."""

import os
from pathlib import Path

import pytest

from marvin_server.errors import ToolError
from marvin_server.workspace import git as questions
from marvin_server.workspace.git_checkout import restore, switch
from marvin_server.workspace.git_commit import commit
from marvin_server.workspace.git_repository import opened
from marvin_server.workspace.process import Processes
from tests.workspace.git_folder import GitFolder

NAME = os.fsdecode(b"caf\xe9.txt")
SHOWN = r"caf\xe9.txt"


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    """Main has a file of that name, too, and feature another one."""
    folder = GitFolder(tmp_path)
    if not _may_be_called_so(folder.root):
        pytest.skip("the file system takes UTF-8 names only")
    folder.commit("Third", {NAME: "old\n"})
    return folder


def _may_be_called_so(root: Path) -> bool:
    try:
        (root / NAME).touch()
        (root / NAME).unlink()
    except OSError:
        return False
    return True


async def test_a_guarded_file_is_left_out_of_a_diff(folder: GitFolder) -> None:
    folder.write({NAME: "secret\n", "a.txt": "seen\n"})

    def guard(path: str, writing: bool) -> str | None:
        return "a rule" if path == NAME else None

    repository = await opened(Processes(), folder.root, ".", folder.environ, lambda _: False, guard=guard)
    for path in (None, NAME):
        text = await questions.diff(repository, path=path)
        assert ("secret" in text, text.endswith(f"[left out: {SHOWN}]\n")) == (False, True)


async def test_a_guarded_file_is_left_out_of_a_commit(folder: GitFolder) -> None:
    folder.write({NAME: "secret\n", "a.txt": "seen\n"})
    repository = await opened(
        Processes(),
        folder.root,
        ".",
        folder.environ,
        lambda _: False,
        guard=lambda path, writing: "a rule" if path == NAME else None,
    )
    assert f"[left out: {SHOWN}]" in await commit(repository, "All", everything=True)
    assert folder.git("show", "--name-only", "--format=") == "a.txt\n"


async def test_a_file_that_git_never_kept_is_not_overwritten_by_a_restore(folder: GitFolder) -> None:
    folder.git("rm", "--quiet", "--cached", "--", NAME)
    folder.write({NAME: "mine\n"})
    with pytest.raises(ToolError, match=r"would be lost by restoring from [0-9a-f]{12}: caf\\xe9\.txt\."):
        await restore(await folder.opened(), [NAME], "HEAD")
    assert folder.read(NAME) == ["mine\n"]


async def test_a_content_filter_is_found(folder: GitFolder) -> None:
    folder.write({".gitattributes": "*.txt filter=big\n", NAME: "new\n"})
    with pytest.raises(ToolError, match=r"pass through a content filter.*caf\\xe9\.txt \(big\)"):
        await commit(await folder.opened(), "All", paths=[NAME])
    (folder.root / ".gitattributes").unlink()


async def test_what_was_written_can_be_shown(folder: GitFolder) -> None:
    folder.write({NAME: "changed\n"})
    assert (await restore(await folder.opened(), [NAME])).paths == (SHOWN,)
    assert folder.read(NAME) == ["old\n"]
    assert SHOWN in (await switch(await folder.opened(), "feature")).paths
