"""What of a tool's result goes into the conversation when the model's context fills."""

import json

import pytest

from marvin_server.agent.admission import Admission
from marvin_server.agent.budget import Budget, Window, message_tokens
from marvin_server.messages import Image, Message, Text, ToolCall, ToolResult, Usage, user_message
from marvin_server.providers.base import ModelRequest
from marvin_server.tokens import estimate
from marvin_server.tools.base import ToolOutput

WINDOW = 22_800
GREP = ToolCall("c1", "code_grep", '{"pattern": "x"}')
FILLER = "word " * 1_000


def read(path: str = "src/a.py", start: int = 1) -> ToolCall:
    return ToolCall("c2", "read_file", json.dumps({"path": path, "start_line": start}))


def lines(first: int, last: int, total: int) -> str:
    """What read_file says of these lines."""
    return "\n".join([f"[lines {first}-{last} of {total}]", *(f"line {n} of a file" for n in range(first, last + 1))])


class Dumps:
    """Keeps what is dumped in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def __call__(self, name: str, text: str) -> str | None:
        self.texts[name] = text
        return f".marvin/memories/dump-{name}.txt"


def filled(tokens: int) -> Budget:
    """The budget of a conversation that takes about so many tokens."""
    budget = Budget()
    count = tokens // estimate(FILLER)
    rest = "word " * ((tokens - count * estimate(FILLER)) * 1_000 // estimate(FILLER))
    history = [*(user_message(FILLER) for _ in range(count)), user_message(rest)]
    budget.measure(ModelRequest("", history, ()), "m", WINDOW, None)
    return budget


def test_the_thresholds_are_scaled_to_what_a_request_may_fill() -> None:
    whole = Window(228_000)
    assert (whole.warn, whole.compact, whole.reject) == (180_000, 200_000, 226_000)
    assert (whole.read_warn, whole.read_most) == (200_000, 300_000)
    small = Window(32_800, 10_000)
    assert (small.warn, small.compact, small.reject) == (18_000, 20_000, 22_600)
    assert Window(10_000, 9_000).usable == 5_000
    assert Window().context == 128_000


async def test_a_result_that_fits_is_left_alone() -> None:
    output = ToolOutput("found it", details={"shown": "to the person"})
    assert await Admission(filled(1_000), Dumps())(GREP, output) == output


async def test_past_the_warning_threshold_the_model_is_told() -> None:
    output = await Admission(filled(18_100), Dumps())(GREP, ToolOutput("found it"))
    assert output.text.startswith("found it\n[Context: about 18,")
    assert "call compact_history" in output.text


async def test_a_result_is_cut_where_it_would_pass_the_warning_threshold() -> None:
    budget = filled(17_000)
    text = "some words " * 4_000
    output = await Admission(budget, Dumps())(GREP, ToolOutput(text))
    shown, _, rest = output.text.partition("\n[Result truncated — ")
    assert text.startswith(shown)
    assert rest.startswith(f"{len(text) - len(shown):,} characters omitted")
    assert "more specific" in rest
    assert budget.used == pytest.approx(18_000, abs=150)


async def test_a_small_result_still_has_room_beyond_it() -> None:
    output = await Admission(filled(21_000), Dumps())(GREP, ToolOutput("x = 1\n" * 50))
    assert "truncated" not in output.text


async def test_at_the_limit_no_result_has_room() -> None:
    output = await Admission(filled(22_700), Dumps())(GREP, ToolOutput("x = 1\n"))
    assert output.status == "error"
    assert output.text.startswith("Error: Context budget exhausted (about 22,")
    assert "compact_history" in output.text


async def test_a_file_is_cut_between_lines_and_the_model_told_how_to_read_on() -> None:
    output = await Admission(filled(17_500), Dumps())(read(start=101), ToolOutput(lines(101, 1_000, 4_000)))
    shown = output.text.partition("[Cut here")[0].splitlines()
    following = 101 + len(shown) - 1
    assert shown[-1] == f"line {following - 1} of a file"
    call = json.dumps({"path": "src/a.py", "start_line": following, "end_line": following + 49})
    assert f"before line {following} of 4000" in output.text
    assert f"read_file({call})" in output.text


async def test_at_the_limit_a_file_is_refused_with_its_length_and_a_range() -> None:
    output = await Admission(filled(22_700), Dumps())(read(), ToolOutput(lines(1, 90, 4_000)))
    assert output.status == "error"
    assert "'src/a.py', which has 4000 in all" in output.text
    assert '"start_line": 1, "end_line": 50' in output.text


async def test_reading_files_has_a_budget_of_its_own_that_a_summary_renews() -> None:
    budget, dumps = filled(0), Dumps()
    admit = Admission(budget, dumps)
    part = lines(1, 250, 4_000)
    texts: list[ToolOutput] = []
    while not dumps.texts:
        budget.used = 0  # the context has room: what counts here is what was read
        texts.append(await admit(read(), ToolOutput(part)))
    full, warned, cut, refused = texts[0], texts[-3], texts[-2], texts[-1]
    assert full.text == part
    assert "of 30,000 characters: read small ranges only" in warned.text
    assert "Read on in small ranges" in cut.text
    assert (refused.status, dumps.texts) == ("error", {"a.py": part})
    assert "kept in .marvin/memories/dump-a.py.txt" in refused.text
    assert "compact_history" in refused.text
    budget.restart([])
    assert (await admit(read(), ToolOutput(part))).text == part


async def test_pictures_count() -> None:
    budget = filled(1_000)
    before = budget.used
    await Admission(budget, Dumps())(read("a.png"), ToolOutput("[a picture]", images=(Image("image/png", "AAAA"),)))
    assert budget.used > before + 1_000


def test_a_message_is_counted_once_and_the_vendors_count_holds_from_then_on() -> None:
    budget = Budget()
    history = [user_message(FILLER) for _ in range(4)]
    request = ModelRequest("system", history, ())
    budget.measure(request, "m", None, None)
    estimated = budget.used
    assert estimated == pytest.approx(4 * message_tokens(history[0]), rel=0.01)
    budget.answered(Message("assistant", (Text("ok"),), usage=Usage(estimated * 6 // 5, 1)))
    assert budget.used == pytest.approx(estimated * 1.2, rel=0.01)
    budget.measure(ModelRequest("system", [*history, user_message(FILLER)], ()), "m", None, None)
    assert budget.used == pytest.approx(estimated * 1.5, rel=0.01)


def test_all_parts_of_a_message_count() -> None:
    parts = (ToolCall("c", "tree", FILLER), ToolResult("c", "tree", FILLER), Text(FILLER), Image("image/png", ""))
    assert message_tokens(Message("assistant", parts)) > 3 * estimate(FILLER) + 1_600


async def test_a_result_whose_tokens_are_at_its_beginning_is_cut_by_tokens_and_not_by_length() -> None:
    budget = filled(17_000)
    output = await Admission(budget, Dumps())(GREP, ToolOutput("7" * 12_000 + " " * 38_000))
    assert "truncated" in output.text
    assert budget.used < budget.window.compact


async def test_pictures_without_room_are_left_out() -> None:
    budget = filled(21_000)
    pictures = (Image("image/png", "AAAA"),) * 2
    output = await Admission(budget, Dumps())(read("a.png"), ToolOutput("[two pictures]", images=pictures))
    assert output.images == ()
    assert output.text.startswith("[two pictures]\n[left out for want of room in the context: 2 pictures]")


async def test_a_line_for_which_there_is_no_room_is_not_to_be_read_again() -> None:
    text = "[lines 5-6 of 9]\n" + "q1" * 5_000 + "\nx"
    output = await Admission(filled(17_000), Dumps())(read(start=5), ToolOutput(text))
    assert output.text.startswith("[lines 5-6 of 9]\nq1q1")
    assert "within line 5 of 9" in output.text
    assert '"start_line"' not in output.text
