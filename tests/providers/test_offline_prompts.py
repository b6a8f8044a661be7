"""What people type: which commands and edits it leads to, and that nothing else is ever done."""

from pathlib import Path

import pytest

from tests.providers.offline_run import Desk

ACTING = {"run_command", "apply_patch", "create_file", "append_file", "write_note"}
THEME = "COLOUR = 1\nSHADE = 3\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "theme.py").write_text(THEME)
    (folder / "README.md").write_text("# Themes\n\nThe timeouts are in theme.py.\n")
    return folder


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        ("run `echo hi`", [("run_command", "echo hi")]),
        ("Run `echo hi` please", [("run_command", "echo hi")]),
        ("hey marvin, could you please run `echo hi`?", [("run_command", "echo hi")]),
        ("Can you run echo hi?", [("run_command", "echo hi")]),
        ("Would you run echo hi, please?", [("run_command", "echo hi")]),
        ("I'd like you to run echo hi.", [("run_command", "echo hi")]),
        ("Run echo hi, then run echo ho.", [("run_command", "echo hi"), ("run_command", "echo ho")]),
        ("$ echo what?", [("run_command", "echo what?")]),
        ("change 1 to 2 in theme.py", [("apply_patch", "theme.py")]),
        ("Could you change 1 to 2 in theme.py?", [("apply_patch", "theme.py")]),
        ("please replace `COLOUR` with `COLOR` in theme.py, thanks!", [("apply_patch", "theme.py")]),
        ("rename SHADE to TINT in theme.py, then run `cat theme.py`", [
            ("apply_patch", "theme.py"), ("run_command", "cat theme.py")]),
        ('append "Bye." to README.md', [("append_file", "README.md")]),
        ("add to README.md: Bye.", [("append_file", "README.md")]),
        ("create an empty file new.py", [("create_file", "new.py")]),
        ('would you create hello.txt with "hello"?', [("create_file", "hello.txt")]),
        ("create hello.txt with hello world", [("create_file", "hello.txt")]),
        ("make a note that the tests are slow", [("write_note", "notes")]),
        ("note: why are the tests slow?", [("write_note", "notes")]),
    ],
)  # fmt: skip
async def test_plain_instructions_are_carried_out_exactly(
    root: Path, prompt: str, calls: list[tuple[str, str]]
) -> None:
    run = await Desk(root).ask(prompt)
    made = [
        (name, arguments.get("command") or arguments.get("path") or arguments.get("name"))
        for calls in run.rounds
        for name, arguments in calls
        if name in ACTING
    ]
    assert made == calls, run.answer


@pytest.mark.parametrize(
    "prompt",
    [
        "run `cat README.md` and explain the output",
        "run `cat README.md`; what does it mean?",
        "Run make all and tell me what fails",
        "run make all, and summarise",
        "could you run the tests and fix whatever breaks?",
        "run black on theme.py",
        "run the linter",
        "should I run make all?",
        "what happens if I run make all?",
        "does make all run the tests?",
        "run echo hi?",
        "change 1 to 2 in theme.py?",
        "why was 1 changed to 2 in theme.py?",
        "change the colour in theme.py to something nicer",
        "replace COLOUR in theme.py",
        "replace 1 with 2 in theme.py and 3 with 4 in theme.py",
        "repalce 1 with 2 in theme.py",
        "append a section about testing to README.md",
        "add a line saying hello to README.md",
        "Add docs to README.md, please",
        "write README2.md",
        "write tests/test_theme.py",
        "write a test for theme.py",
        "create theme2.py with a nicer colour",
        "create a test for theme.py",
        "Note that the tests are slow, where are the timeouts defined?",
        "note that the tests are slow",
        "delete theme.py",
        "commit everything and push",
        "undo that",
        "Führe bitte die Tests aus",
        "Ersetze 1 durch 2 in theme.py",
        "Wo sind die Timeouts definiert?",
        "lance les tests s'il te plaît",
        "Remplace 1 par 2 dans theme.py",
        "Où sont définis les timeouts ?",
        "the tests fail, any idea?",
        "where are the timeouts?",
        "explain theme.py",
        "show me theme.py and change it",
    ],
)
async def test_whatever_is_not_plain_runs_and_changes_nothing(root: Path, prompt: str) -> None:
    run = await Desk(root).ask(prompt)
    assert not ACTING & set(run.names), run.answer
    assert (root / "theme.py").read_text() == THEME
    assert sorted(path.name for path in root.iterdir()) == ["README.md", "theme.py"]
    assert "no language model" in run.answer or "not a language model" in run.answer or prompt == "undo that"


@pytest.mark.parametrize("prompt", ["Wo sind die Timeouts definiert?", "Où sont définis les timeouts ?"])
async def test_other_languages_get_an_honest_answer_instead_of_a_search_for_their_articles(
    root: Path, prompt: str
) -> None:
    run = await Desk(root).ask(prompt)
    assert run.rounds == []
    assert run.answer.startswith("I did nothing: I read plain English only.")
