"""The offline provider at work in a real folder with the real tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from marvin_server.errors import BadRequest
from marvin_server.messages import Message, ToolCall, Usage, user_message
from marvin_server.providers.base import ModelRequest, Provider
from marvin_server.providers.offline import Offline
from tests.providers.offline_run import Desk, respond

SHOP = '''\
"""Prices of a shop."""


def total_price(items, tax_rate):
    """The sum of all prices with tax."""
    return sum(items) * (1 + tax_rate)


def show_total(items):
    print("total", total_price(items, 0.2))
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "shop.py").write_text(SHOP)
    (folder / "src" / "stock.py").write_text("SHELVES = 4\nshelves = [[] for _ in range(SHELVES)]\n")
    (folder / "README.md").write_text("# The shop\n\nSells things.\n\n## Usage\n\nRun it.\n")
    (folder / "notes.txt").write_text("one\ntwo\none")
    return folder


def test_it_is_a_provider() -> None:
    provider: Provider = Offline()
    assert (provider.name, provider.model) == ("offline", "offline")


async def test_a_question_is_answered_by_searches_then_reads_then_quotes(root: Path) -> None:
    run = await Desk(root).ask("Where is the total price computed?")
    assert [{name for name, _ in calls} for calls in run.rounds] == [{"code_grep"}, {"read_file"}]
    assert "`src/shop.py:4`\n\n```python\ndef total_price(items, tax_rate):\n" in run.answer
    assert "not a language model" in run.answer.rsplit("\n", 1)[-1]


async def test_the_same_history_gives_the_same_reply(root: Path) -> None:
    desk = Desk(root)
    run = await desk.ask("where is tax_rate used?")
    again = await respond(run.history[:-1], desk.tools)
    assert again.text == run.answer


async def test_a_follow_up_keeps_the_terms_of_the_question_before_it(root: Path) -> None:
    desk = Desk(root)
    first = await desk.ask("where are the shelves?")
    second = await desk.ask("and in src?", first.history)
    assert "src/stock.py" in second.answer


async def test_nothing_found_says_what_was_searched(root: Path) -> None:
    run = await Desk(root).ask("where is the frobnicator?")
    assert run.answer.startswith("Nothing in this workspace mentions `frobnicator`")
    assert "read_file" not in run.names


async def test_a_file_that_repeats_the_question_is_not_its_answer(root: Path) -> None:
    (root / "Makefile").write_text("run:\n\task 'where is the total price computed?'\n")
    run = await Desk(root).ask("Where is the total price computed?")
    assert "Makefile" not in run.answer


async def test_an_overview_quotes_the_readme_and_the_tree(root: Path) -> None:
    answer = (await Desk(root).ask("What is in this project?")).answer
    assert answer.startswith("From `README.md`:\n\n```markdown\n# The shop\n\nSells things.\n```\n")
    assert "src/" in answer


async def test_a_question_about_a_file_shows_its_head_and_what_it_defines(root: Path) -> None:
    answer = (await Desk(root).ask("explain shop.py")).answer
    assert '```python\n"""Prices of a shop."""\n' in answer
    assert "- `src/shop.py:4` `def total_price(items, tax_rate):`" in answer


async def test_fences_are_longer_than_any_run_of_backticks_that_they_quote(root: Path) -> None:
    (root / "guide.md").write_text("# Guide\n\n````\n```\nx\n```\n````\n")
    answer = (await Desk(root).ask("read guide.md")).answer
    assert answer == "`guide.md:1`\n\n`````markdown\n# Guide\n\n````\n```\nx\n```\n````\n`````"


@pytest.mark.parametrize("prompt", ["", "write me a poem", "hello!", "fix the bug in the shop", "\n" * 100_000])
async def test_what_needs_a_model_gets_an_honest_answer_without_any_call(root: Path, prompt: str) -> None:
    run = await Desk(root).ask(prompt)
    assert run.rounds == []
    assert "no language model" in run.answer
    assert "marvin doctor" in run.answer


async def test_a_gigantic_prompt_is_answered(root: Path) -> None:
    run = await Desk(root).ask("where is the total price? " + "and shelves here " * 100_000)
    assert "src/shop.py" in run.answer


async def test_replacing_text_that_occurs_once_changes_it_and_shows_how(root: Path) -> None:
    run = await Desk(root).ask("replace 0.2 with 0.25 in src/shop.py")
    assert (root / "src/shop.py").read_text() == SHOP.replace("0.2", "0.25")
    assert '-    print("total", total_price(items, 0.2))\n+    print("total", total_price(items, 0.25))' in run.answer


async def test_replacing_text_that_occurs_several_times_changes_nothing_and_says_where(root: Path) -> None:
    run = await Desk(root).ask("replace one with three in notes.txt")
    assert (root / "notes.txt").read_text() == "one\ntwo\none"
    assert "notes.txt:1: one\nnotes.txt:3: one" in run.answer
    assert "apply_patch" not in run.names


async def test_replace_all_changes_every_place_in_one_patch(root: Path) -> None:
    run = await Desk(root).ask("replace all one with three in notes.txt")
    assert (root / "notes.txt").read_text() == "three\ntwo\nthree"
    assert run.names.count("apply_patch") == 1


async def test_places_that_do_not_fit_one_patch_are_left_alone(root: Path) -> None:
    text = "first\n" + "between\n" * 3000 + "first\n"
    (root / "long.txt").write_text(text)
    run = await Desk(root).ask("replace all first with last in long.txt")
    assert (root / "long.txt").read_text() == text
    assert "too far apart" in run.answer


async def test_rename_counts_every_place_of_a_long_line(root: Path) -> None:
    (root / "long.txt").write_text("foo " + "x" * 900 + " foo\nxfoo\n")
    answer = (await Desk(root).ask("rename foo to bar in long.txt")).answer
    assert (root / "long.txt").read_text() == "bar " + "x" * 900 + " bar\nxfoo\n"
    assert "2 places on line 1:" in answer


async def test_replace_all_finds_every_place_of_a_long_line(root: Path) -> None:
    (root / "long.txt").write_text("foo " + "x" * 900 + " foo\nxfoo")
    await Desk(root).ask("replace all foo with bar in long.txt")
    assert (root / "long.txt").read_text() == "bar " + "x" * 900 + " bar\nxbar"


async def test_replace_all_is_not_limited_by_what_a_search_shows(root: Path) -> None:
    (root / "many.txt").write_text("x\n" * 303)
    answer = (await Desk(root).ask("replace all x with y in many.txt")).answer
    assert (root / "many.txt").read_text() == "y\n" * 303
    assert "303 places" in answer


async def test_more_places_than_a_search_shows_are_not_counted_as_if_they_were_all(root: Path) -> None:
    (root / "many.txt").write_text("x\n" * 303)
    assert "is in more than 200 places" in (await Desk(root).ask("replace x with y in many.txt")).answer


async def test_rename_leaves_longer_words_alone(root: Path) -> None:
    await Desk(root).ask("rename total to amount in src/shop.py")
    assert (root / "src/shop.py").read_text() == SHOP.replace('"total"', '"amount"')


async def test_text_that_is_not_there_is_not_replaced(root: Path) -> None:
    run = await Desk(root).ask("replace nine with ten in notes.txt then run touch done")
    assert "nowhere in `notes.txt`" in run.answer
    assert not (root / "done").exists()


async def test_steps_run_in_order(root: Path) -> None:
    run = await Desk(root).ask("create a/b.txt with hello, then append `again` to a/b.txt, then run cat a/b.txt")
    assert run.answer.endswith("3. `cat a/b.txt` ended with exit code 0:\n\n```\nhello\nagain\n```")


async def test_appending_begins_a_new_line(root: Path) -> None:
    await Desk(root).ask('add the line "three" to notes.txt')
    assert (root / "notes.txt").read_text() == "one\ntwo\none\nthree\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "the end"])
@pytest.mark.parametrize("count", [3, 2000])
async def test_appending_keeps_the_line_ends_of_a_file_of_any_size(
    root: Path, newline: str, last: str, count: int
) -> None:
    text = newline.join([*(f"line {number}" for number in range(count)), last])
    (root / "lines.txt").write_bytes(text.encode())
    run = await Desk(root).ask("append to lines.txt: hello")
    written = (root / "lines.txt").read_bytes().decode()
    assert written.removesuffix(newline) == f"{text.removesuffix(newline)}{newline}hello", run.answer


async def test_nothing_is_appended_to_a_file_whose_end_cannot_be_read(root: Path) -> None:
    run = await Desk(root, denied={"read_file"}).ask("append to notes.txt: hello")
    assert run.names == ["read_file"]
    assert (root / "notes.txt").read_text() == "one\ntwo\none"


async def test_appending_to_a_large_file_whose_end_is_not_unique_fails(root: Path) -> None:
    (root / "same.txt").write_text("the same line\n" * 2000)
    run = await Desk(root).ask("append to same.txt: hello")
    assert (root / "same.txt").read_text() == "the same line\n" * 2000
    assert run.answer.startswith("`same.txt` was not written: ")


@pytest.mark.parametrize("command", ["kill -9 $$", "kill -15 $$"])
async def test_a_command_that_a_signal_ends_has_failed(root: Path, command: str) -> None:
    run = await Desk(root).ask(f"1. run `{command}`\n2. run touch done")
    assert f"was ended by signal {command[6:8].strip()} and printed nothing" in run.answer.replace("-", "")
    assert not (root / "done").exists()


async def test_nothing_runs_when_words_follow_a_quoted_command(root: Path) -> None:
    (root / "list.txt").write_text("touch owned")
    run = await Desk(root).ask("run `cat list.txt` and explain the output")
    assert run.rounds == []
    assert run.answer.startswith("I understand `` run `cat list.txt` ``, but not `and explain the output`")
    assert "``run `pytest -q` ``" in run.answer


async def test_a_file_whose_first_line_looks_like_a_range_keeps_it(root: Path) -> None:
    (root / "odd.txt").write_text("[lines 1-1 of 5]\nx\n")
    assert (await Desk(root).ask("read odd.txt")).answer == "`odd.txt:1`\n\n```\n[lines 1-1 of 5]\nx\n```"


@pytest.mark.parametrize("prompt", ["read readme.md", "show me the readme", "read Readme.md"])
async def test_a_file_is_found_in_another_case_and_named(root: Path, prompt: str) -> None:
    answer = (await Desk(root).ask(prompt)).answer
    assert answer.startswith(f"`README.md:1` (there is no `{prompt.rsplit(maxsplit=1)[-1]}`)\n")


async def test_several_files_of_a_name_in_other_case_are_named(root: Path) -> None:
    (root / "README.rst").write_text("x")
    answer = (await Desk(root).ask("show me the readme")).answer
    assert answer == "There is no `readme`; do you mean `README.md` or `README.rst`?"


async def test_a_file_whose_name_looks_like_a_hit_is_told_from_its_text(root: Path) -> None:
    (root / "a:1: b.txt").write_text("x = 1\n")
    await Desk(root).ask("replace 1 with 2 in `a:1: b.txt`")
    assert (root / "a:1: b.txt").read_text() == "x = 2\n"


async def test_a_name_with_control_characters_is_quoted_with_escapes(root: Path) -> None:
    (root / "frob\tnicator.py").write_text("def frobnicate():\n    return 1\n")
    answer = (await Desk(root).ask("where is frobnicate?")).answer
    assert "`frob\\tnicator.py:1`\n\n```python\ndef frobnicate():" in answer


async def test_a_quote_is_headed_by_its_first_line_and_names_the_line_that_it_is_about(root: Path) -> None:
    (root / "src/late.py").write_text("import os\n" * 20 + "\n\n@decorated\n@twice\ndef frobnicate():\n    return 1\n")
    answer = (await Desk(root).ask("where is frobnicate defined?")).answer
    assert "`src/late.py:23` (see line 25)\n\n```python\n@decorated\n@twice\ndef frobnicate():\n" in answer


async def test_a_command_that_fails_ends_the_sequence(root: Path) -> None:
    run = await Desk(root).ask("run echo no; exit 3\nrun touch done")
    assert "ended with exit code 3:\n\n```\nno\n```" in run.answer
    assert run.answer.endswith("I stopped there: step 1 of 2 did not succeed, so the rest was not done.")
    assert not (root / "done").exists()


async def test_a_long_output_is_shown_from_its_end(root: Path) -> None:
    answer = (await Desk(root).ask("run seq 500")).answer
    assert "the last 60 of 500 lines" in answer
    assert answer.endswith("\n499\n500\n```")


async def test_a_denied_call_ends_the_sequence_with_a_clear_sentence(root: Path) -> None:
    run = await Desk(root, denied={"run_command"}).ask("run touch done then list files")
    assert "it was not allowed" in run.answer
    assert run.names == ["run_command"]


async def test_a_tool_that_is_not_offered_is_named_and_never_called(root: Path) -> None:
    run = await Desk(root, offered={"code_grep", "read_file"}).ask("run touch done")
    assert run.rounds == []
    assert "`run_command` is not available here" in run.answer


async def test_at_the_round_limit_it_tells_what_it_has(root: Path) -> None:
    run = await Desk(root).ask("where is the total price computed?", limit=1)
    assert "`src/shop.py:4`" in run.answer


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Makefile": "test:\n\t@echo made\n"}, "make test"),
        ({"tests/test_a.py": ""}, "python -m unittest"),
        ({"package.json": '{\n  "scripts": {\n    "test": "true"\n  }\n}\n'}, "npm test"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest"),
    ],
)
async def test_the_tests_are_run_as_the_project_does(root: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    run = await Desk(root, denied={"run_command"}).ask("run the tests")
    assert run.rounds[-1] == [("run_command", {"command": command})]


async def test_without_any_tests_it_asks_for_the_command(root: Path) -> None:
    assert "I found no way to run the tests" in (await Desk(root).ask("run the tests")).answer


async def test_git_is_shown_by_the_git_tools(root: Path) -> None:
    run = await Desk(root).ask("run git init -q, then show status")
    assert run.names == ["run_command", "git_status"]
    assert "notes.txt" in run.answer


async def test_notes_are_kept_and_added_to(root: Path) -> None:
    desk = Desk(root)
    await desk.ask("note: buy milk")
    await desk.ask("note: sell bread")
    assert (await desk.ask("show notes")).answer == "```\nbuy milk\nsell bread\n```"


async def test_a_file_that_does_not_exist_is_an_honest_answer(root: Path) -> None:
    assert (await Desk(root).ask("read missing.py")).answer.startswith("I could not read `missing.py`")


async def test_an_unclear_step_means_that_nothing_is_done(root: Path) -> None:
    run = await Desk(root).ask("run touch done then improve everything")
    assert run.rounds == []
    assert "`improve everything`" in run.answer


async def test_messages_name_the_provider_and_their_calls_have_ids_of_their_own(root: Path) -> None:
    message = await respond([user_message("where is the total price?")], Desk(root).tools)
    assert message == Message(
        "assistant",
        tuple(ToolCall(call.id, call.name, call.arguments) for call in message.tool_calls),
        message.id,
        "tool_calls",
        "offline",
        "offline",
        Usage(),
    )
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls) > 1


async def test_a_json_schema_is_refused() -> None:
    with pytest.raises(BadRequest, match="JSON schema"):
        async for _ in Offline().stream(ModelRequest("", [user_message("x")], (), {"type": "object"})):
            pass


def test_its_import_is_light() -> None:
    code = (
        "import sys, marvin_server.providers.base; before = set(sys.modules); import marvin_server.providers.offline;"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('marvin_server')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"bisect", "_bisect", "json", "json.decoder", "json.encoder", "json.scanner",
                                        "_json", "math", "itertools"}  # fmt: skip
