from marvin_server.messages import Charge, Usage
from marvin_server.session.usage import ModelUsage, Tally


def test_an_empty_tally_costs_nothing() -> None:
    tally = Tally()
    assert tally.cost_line() == {"session_cost": 0, "llm_turns": 0, "model_turns": {}, "model_cost": {}}
    assert tally.report() == "No model request so far."


def test_the_cost_line_adds_up_requests_and_money_by_model() -> None:
    tally = Tally()
    tally.add("openai", "big", Usage(1000, 100, 400), Charge(0.1))
    tally.add("openai", "big", Usage(500, 50), Charge(0.2))
    tally.add("offline", "offline", Usage(), Charge(0.0))
    assert tally.cost_line() == {
        "session_cost": 0.3,
        "llm_turns": 3,
        "model_turns": {"big": 2, "offline": 1},
        "model_cost": {"big": 0.3, "offline": 0.0},
    }
    assert tally.total.usage == Usage(1500, 150, 400)


def test_a_model_of_unknown_price_costs_null_and_is_listed() -> None:
    tally = Tally()
    tally.add("openai", "big", Usage(10, 1), Charge(0.5))
    tally.add("openai-compat", "mystery", Usage(10, 1), Charge(None))
    assert tally.cost_line() == {
        "session_cost": 0.5,
        "llm_turns": 2,
        "model_turns": {"big": 1, "mystery": 1},
        "model_cost": {"big": 0.5, "mystery": None},
        "unpriced": ["mystery"],
    }


def test_one_request_of_unknown_price_makes_the_cost_of_its_model_unknown_but_not_the_known_sum() -> None:
    tally = Tally()
    tally.add("a", "big", Usage(10, 1), Charge(None))
    tally.add("b", "big", Usage(10, 1), Charge(0.25))
    line = tally.cost_line()
    assert line["session_cost"] == 0.25
    assert line["model_cost"] == {"big": None}
    assert line["unpriced"] == ["big"]


def test_a_tally_goes_on_from_stored_rows() -> None:
    stored = ModelUsage(2, Usage(100, 10), 1.5, provider="openai", model="big")
    tally = Tally([stored])
    tally.add("openai", "big", Usage(1, 1), Charge(None))
    assert tally.rows == (ModelUsage(3, Usage(101, 11), 1.5, 1, provider="openai", model="big"),)


def test_the_report_says_what_each_model_used() -> None:
    tally = Tally()
    tally.add("openai", "big", Usage(12000, 300, 4000), Charge(0.0525))
    tally.add("openai", "big", Usage(10, 1), Charge(None))
    tally.add("vllm", "mystery", Usage(10, 1), Charge(None))
    assert tally.report() == (
        "Total: 3 requests, 12,020 tokens in (4,000 cached), 302 out, $0.0525 and 2 of unknown price\n"
        "- openai/big: 2 requests, 12,010 tokens in (4,000 cached), 301 out, $0.0525 and 1 of unknown price\n"
        "- vllm/mystery: 1 request, 10 tokens in, 1 out, price unknown"
    )


def test_what_caching_saved_is_told_once_it_is_more_than_it_cost() -> None:
    tally = Tally()
    tally.add("anthropic", "big", Usage(1000, 10, cache_write=1000), Charge(0.05, -0.0125))
    assert "cache_savings" not in tally.cost_line()
    assert tally.report().splitlines()[0].endswith("$0.0500, caching cost $0.0125 more")
    tally.add("anthropic", "big", Usage(1000, 10, cache_read=1000), Charge(0.01, 0.045))
    assert tally.cost_line()["cache_savings"] == 0.0325
    assert tally.report().splitlines()[0].endswith("$0.0600, saved $0.0325 by caching")
