"""What is offered while a person types."""

from pathlib import Path

import pytest

from tests.cli.repl.conftest import Open, Terminal


async def offered(opened: Terminal, text: str) -> list[str]:
    """The lines that could come of ``text`` with the cursor at its end."""
    found = await opened.source.complete(text, len(text))
    return [text[: len(text) - each.length] + each.text for each in found]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    for name in ("src/main.py", "src/my file.py", "docs/main.md", ".git/config", "build/main.o"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("")
    (workspace / ".gitignore").write_text("build/\n")
    return workspace


async def test_files_after_an_at_sign_honour_ignore_rules_and_come_best_first(terminal: Open, files: Path) -> None:
    opened = await terminal()
    assert sorted(await offered(opened, "look at @main")) == ["look at @docs/main.md", "look at @src/main.py"]
    assert await offered(opened, "@myf") == ['@"src/my file.py"']
    assert await offered(opened, "mail me@main") == []


async def test_commands_and_what_may_follow_them(terminal: Open) -> None:
    opened = await terminal()
    assert await offered(opened, "/mod") == ["/mode ", "/model "]
    assert await offered(opened, "/mode p") == ["/mode plan"]
    assert await offered(opened, "/provider off") == ["/provider offline"]
    assert await offered(opened, "/model t") == ["/model test-model"]
    assert await offered(opened, "/theme l") == ["/theme light"]
    assert await offered(opened, "/tools read_f") == ["/tools read_file"]
    assert await offered(opened, "/undo x") == []
    assert await offered(opened, "what is /mod") == []


async def test_sessions_are_offered_by_their_titles(terminal: Open) -> None:
    opened = await terminal()
    opened.view.enter("about the basket")
    await opened.view.turns(1)
    assert await offered(opened, "/resume bask") == [f"/resume {opened.loop.conversation.session.id}"]


async def test_tools_by_a_part_of_their_names(terminal: Open) -> None:
    opened = await terminal()
    assert "use read_file" in await offered(opened, "use read_")
    assert await offered(opened, "use read") == []


async def test_paths_from_here_home_and_the_root(terminal: Open, files: Path, home: Path) -> None:
    (home / "letters").mkdir()
    opened = await terminal()
    assert await offered(opened, "see ./sr") == ["see ./src/"]
    assert await offered(opened, "see ./src/ma") == ["see ./src/main.py"]
    assert await offered(opened, "see ~/lett") == ["see ~/letters/"]
    assert await offered(opened, f"see {files}/do") == [f"see {files}/docs/"]
    assert await offered(opened, "see ./.gi") == ["see ./.git/", "see ./.gitignore"]
    assert await offered(opened, "see ./nowhere/x") == []


async def test_a_command_for_the_shell_completes_files_where_the_shell_is(terminal: Open, files: Path) -> None:
    opened = await terminal()
    assert await offered(opened, "!cat src/ma") == ["!cat src/main.py"]
    assert await offered(opened, "!ls build/") == ["!ls build/main.o"]
    opened.loop.shell_mode = True
    opened.loop.shell.directory = files / "docs"
    assert await offered(opened, "cat ma") == ["cat main.md"]


async def test_the_history_is_that_of_the_profile(terminal: Open) -> None:
    opened = await terminal()
    opened.view.enter("/saved", "two\nlines")
    await opened.view.turns(1)
    assert opened.source.earlier() == ["/saved", "two\nlines"]
    opened.view.enter("/profiles work")
    await opened.view.said("Profile work")
    opened.view.enter("/queue")
    await opened.view.said("Nothing waits")
    assert opened.source.earlier() == ["/queue"]
