"""Estimates of tokens, against what a tokenizer counts in the same texts."""

import pytest

from marvin_server.tokens import Calibration, estimate

# Of each text five times over; counted as o200k_base with js-tiktoken 1.0.
COUNTED = {
    "The quick brown fox jumps over the lazy dog, and nobody in the village has ever understood why. ": 101,
    'def total(prices: list[int]) -> int:\n    """The sum of all prices."""\n'
    "    return sum(price.amount for price in prices)\n\n\n": 145,
    '{"name": "marvin", "count": 42, "items": [{"id": "a1", "price": 19.99}, {"id": "b2", "price": 4.5}]}\n': 230,
    "快速的棕色狐狸跳过了懒狗，村子里没有人明白为什么。": 110,
    "素早い茶色の狐がのろまな犬を飛び越えたが、村の誰もその理由を知らない。": 155,
    "빠른 갈색 여우가 게으른 개를 뛰어넘었지만 마을의 누구도 그 이유를 모른다. ": 146,
    "Der schnelle braune Fuchs springt über den faulen Hund, und niemand im Dorf weiß, warum. ": 111,
    "2026-11-21 12:45:01 4096 8192 0x7f3a 192.168.0.1:8080 99.95%\n": 205,
}


@pytest.mark.parametrize("text", COUNTED)
def test_an_estimate_is_near_the_count(text: str) -> None:
    assert estimate(text * 5) == pytest.approx(COUNTED[text], rel=0.3)


def test_nothing_has_no_tokens_and_half_a_character_some() -> None:
    assert estimate("") == 0
    assert estimate("\ud83d") > 0


def test_estimates_are_corrected_by_what_the_vendor_counts() -> None:
    calibration = Calibration()
    assert calibration.corrected("m", 1_000) == 1_000
    calibration.learn("m", 1_000, 1_300)
    assert calibration.corrected("m", 2_000) == 2_600
    assert calibration.corrected("another", 2_000) == 2_000
    calibration.learn("m", 2_600, 2_000)
    assert calibration.corrected("m", 2_600) == 2_000


@pytest.mark.parametrize("counted", [0, 12, 100_000])
def test_a_count_that_no_tokenizer_explains_is_passed_over(counted: int) -> None:
    calibration = Calibration()
    calibration.learn("m", 5_000, counted)
    calibration.learn("m", 10, 20)
    assert calibration.corrected("m", 1_000) == 1_000
