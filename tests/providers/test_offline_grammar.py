"""How plain English is read as instructions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.providers.offline.grammar import read_instructions
from marvin_server.providers.offline.instructions import (
    Append,
    Change,
    Find,
    Instruction,
    Read,
    Replace,
    Run,
    RunTests,
    Show,
    Unclear,
    Undo,
)


def create(path: str, content: str) -> Change:
    return Change("create_file", {"path": path, "content": content})


NOTE = {"name": "notes", "append": True}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("replace a with b in x.py", Replace("a", "b", "x.py")),
        ('Please replace "a b" by "" in `src/x.py`.', Replace("a b", "", "src/x.py")),
        ("replace `x with y` with 'z' in x.py", Replace("x with y", "z", "x.py")),
        ("replace all foo with bar in x.py", Replace("foo", "bar", "x.py", everywhere=True)),
        ("replace every occurrence of a with b in x.py", Replace("a", "b", "x.py", everywhere=True)),
        ("rename foo to bar in lib/x.py", Replace("foo", "bar", "lib/x.py", everywhere=True, whole_words=True)),
        ("run ls -la .", Run("ls -la .")),
        ("run `make check`", Run("make check")),
        ("$ echo then", Run("echo then")),
        ("$ echo you and me?", Run("echo you and me?")),
        ("run `ls` please", Run("ls")),
        ("Run `ls`, please.", Run("ls")),
        ("run 'git commit -m x'!", Run("git commit -m x")),
        ("Run make all.", Run("make all")),
        ("Run pytest, please.", Run("pytest")),
        ("Run: `make all`. Thanks!", Run("make all")),
        ("run make all. Thank you!", Run("make all")),
        ("run the following command: `ls`", Run("ls")),
        ("run pytest -q for me, thanks", Run("pytest -q")),
        ("Can you run echo hi?", Run("echo hi")),
        ("could you please run `echo hi?`?", Run("echo hi?")),
        ("run go test ./...", Run("go test ./...")),
        ("run git log HEAD..", Run("git log HEAD..")),
        ("run grep -rn 'this and that' .", Run("grep -rn 'this and that' .")),
        ("run for x in a b; do echo $x; done", Run("for x in a b; do echo $x; done")),
        ("run if true; then echo yes; fi", Run("if true; then echo yes; fi")),
        ("could you run the tests?", RunTests()),
        ("run all the unit tests", RunTests()),
        ("show status", Show("git_status", {})),
        ("what changed?", Show("git_diff", {})),
        ("show the staged diff of x.py", Show("git_diff", {"path": "x.py", "staged": True})),
        ("git log", Show("git_log", {})),
        ("create a.txt with hello", create("a.txt", "hello\n")),
        ("create a file called a.txt with the content: hello", create("a.txt", "hello\n")),
        ("create a.txt", create("a.txt", "")),
        ("create a.py with:\nx = 1\n\nrun(x)\n", create("a.py", "x = 1\n\nrun(x)\n")),
        ("create a.py with\n```python\nx = 1\n```", create("a.py", "x = 1\n")),
        ("append: hello to a.txt", Append("a.txt", "hello\n")),
        ("add the line: hello to the file a.txt", Append("a.txt", "hello\n")),
        ("append to a.txt: is it so?", Append("a.txt", "is it so?\n")),
        ('add "hello" to a.txt', Append("a.txt", "hello\n")),
        ("append to a.txt:\n```\nx\n```", Append("a.txt", "x\n")),
        ("cat README", Read("README")),
        ("show me x.py lines 3-9", Read("x.py", 3, 9)),
        ("show line 3 of x.py", Read("x.py", 3, 3)),
        ("grep foo in src", Find("foo", "src")),
        ("search for 'a b'", Find("a b")),
        ("list the files in src", Show("tree", {"path": "src", "depth": 2})),
        ("note: buy milk", Change("write_note", {"name": "notes", "append": True, "content": "buy milk\n"})),
        ("make a note that milk is out", Change("write_note", NOTE | {"content": "milk is out\n"})),
        ("note plan: parser first", Change("write_note", {"name": "plan", "content": "parser first\n"})),
        ("write a note plan: parser first", Change("write_note", {"name": "plan", "content": "parser first\n"})),
        ("show notes", Show("read_note", {"name": "notes"})),
        ("where am I?", Show("get_working_dir", {})),
        ("undo that", Undo()),
    ],
)
def test_one_instruction_is_read_exactly(prompt: str, expected: Instruction) -> None:
    assert read_instructions(prompt) == [expected]


@pytest.mark.parametrize(
    "prompt",
    [
        "create a.txt with hello world, then run cat a.txt",
        "create a.txt with hello world and then run cat a.txt",
        "create a.txt with hello world\nrun cat a.txt",
        '1. create a.txt with "hello world"\n2. run cat a.txt',
        "- create a.txt with hello world\n- run cat a.txt\n",
        "create a.txt with\n```\nhello world\n```\nthen run cat a.txt",
    ],
)
def test_steps_are_separated_by_then_by_lines_or_by_a_list(prompt: str) -> None:
    assert read_instructions(prompt) == [create("a.txt", "hello world\n"), Run("cat a.txt")]


def test_text_for_a_file_may_say_then() -> None:
    assert read_instructions("create a.txt with first this then that") == [create("a.txt", "first this then that\n")]
    assert read_instructions('create a.txt with "x then run y" then run z') == [
        create("a.txt", "x then run y\n"),
        Run("z"),
    ]


def test_a_step_that_is_no_instruction_makes_the_sequence_unclear() -> None:
    assert read_instructions("run the tests then fix the bug") == Unclear(
        "run the tests", "fix the bug", "Put `then` between two steps, and say of each exactly what to do."
    )


@pytest.mark.parametrize(
    ("prompt", "understood", "rest"),
    [
        ("run `cat list.txt` and explain the output", "run `cat list.txt`", "and explain the output"),
        ('run "./my prog" --all', 'run "./my prog"', "--all"),
        ("run `date", "run", "`date"),
        ("run ``", "run", "``"),
        ("$ `cat list.txt` and explain", "$", "`cat list.txt` and explain"),
        ("run make all and tell me what fails", "run make all", "and tell me what fails"),
        ("run make all, report back", "run make all", ", report back"),
        ("Run make all. Tell me what fails.", "run make all", ". Tell me what fails"),
        ("run cat `list.txt`", "run cat", "`list.txt`"),
        ('run git commit -m "fix `foo`"', 'run git commit -m "fix', '`foo`"'),
        ("create a.txt with hello and run cat a.txt", "create a.txt with", "hello and run cat a.txt"),
        ("run black on theme.py", "run black", "on theme.py"),
        ("run make in src", "run make", "in src"),
        ("run ls then run `make` and fix it", "run ls; run `make`", "and fix it"),
        ("append a section about testing to README.md", "", "append a section about testing to README.md"),
        ("add a line saying hello to README.md", "", "add a line saying hello to README.md"),
        ("add tests to tests/test_x.py", "", "add tests to tests/test_x.py"),
        ("append to a.txt hello", "", "append to a.txt hello"),
        ("write README2.md", "", "write README2.md"),
        ("create x.py with a function that adds", "create x.py with", "a function that adds"),
        ('create x.py with "x = 1" and tests', "create x.py with", '"x = 1" and tests'),
        ("note that the tests are slow", "note", "the tests are slow"),
        ("change 1 to 2 in theme.py?", "", "change 1 to 2 in theme.py?"),
        ("create a.txt with hello?", "", "create a.txt with hello?"),
        ("run the tests?", "", "run the tests?"),
        ("replace a with b and c with d in x.py", "", "replace a with b and c with d in x.py"),
        ("replace a with b in x.py and run the tests", "replace a with b in x.py", "and run the tests"),
        ("run the tests and fix what fails", "run the tests", "and fix what fails"),
    ],
)
def test_what_is_only_in_part_an_instruction_is_unclear(prompt: str, understood: str, rest: str) -> None:
    unclear = read_instructions(prompt)
    assert isinstance(unclear, Unclear)
    assert (unclear.understood, unclear.rest) == (understood, rest)
    assert unclear.advice


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "where are the exit codes defined?",
        "run through the code and explain it",
        "Note that the tests are slow, where are the timeouts defined?",
        "create foo.py that prints hello",
        "find where retries happen",
        "show me the function foo",
        "write me a poem",
        "rename foo to bar",
    ],
)
def test_other_prompts_are_no_instructions(prompt: str) -> None:
    assert read_instructions(prompt) is None


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            [
                *("replace", "all", "with", "in", "x.py", "run", "create", "append", "to", "then", "and", "note", "1."),
                *("`", '"', "'", "```", "\n", " ", ";", "show", "lines 1-2", "rename", "add line"),
            ]
        )
    ).map(" ".join)
)
def test_reading_never_fails(prompt: str) -> None:
    steps = read_instructions(prompt)
    assert steps is None or steps


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece", ["then ", "run x; then ", "create a.txt with ", '"', " ", "\n", "1. run x\n", "a with "]
)
def test_a_gigantic_prompt_is_read_at_once(piece: str) -> None:
    read_instructions("run " + piece * (1_000_000 // len(piece)))
    read_instructions(piece * (1_000_000 // len(piece)))
