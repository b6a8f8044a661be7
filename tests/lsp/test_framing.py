"""The bytes of the wire: whatever comes, messages are found in it or it is refused."""

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.lsp.framing import BrokenFrame, Frames, decode, encode
from tests.lsp.frames import BROKEN

LENGTHS = ("Content-Length", "content-length", "CONTENT-LENGTH", "cOnTeNt-lEnGtH")
OTHERS = ("", "Content-Type: application/vscode-jsonrpc; charset=utf-8", "X-Other: a: b", "Content-Length: {}")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def framed(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    """Bodies, and a stream that holds them in any of the tolerated ways."""
    bodies = draw(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
    stream = b""
    for body in bodies:
        end = draw(st.sampled_from(("\r\n", "\n")))
        lines = [f"{draw(st.sampled_from(LENGTHS))}:{draw(st.sampled_from(('', ' ', '  ')))}{len(body)}"]
        if other := draw(st.sampled_from(OTHERS)):
            lines.insert(draw(st.integers(0, 1)), other.format(len(body)))
        before = draw(st.sampled_from(("", "\ufeff", "\n", "\r\n\r\n")))
        stream += (before + end.join([*lines, "", ""])).encode() + body
    return bodies, stream


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    chunks: list[bytes] = []
    for size in sizes:
        chunks.append(stream[:size])
        stream = stream[size:]
    return [*chunks, stream]


@given(framed(), st.lists(st.integers(1, 40), max_size=60))
def test_messages_are_found_however_they_are_cut(sent: tuple[list[bytes], bytes], sizes: list[int]) -> None:
    bodies, stream = sent
    frames = Frames()
    assert [body for chunk in cut(stream, sizes) for body in frames.feed(chunk)] == bodies
    assert not frames.is_within


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_any_bytes_are_taken_or_refused(chunks: list[bytes]) -> None:
    frames = Frames()
    try:
        for chunk in chunks:
            list(frames.feed(chunk))
    except BrokenFrame:
        return


@pytest.mark.parametrize("stream", BROKEN)
def test_a_header_that_says_no_length_ends_the_stream(stream: bytes) -> None:
    with pytest.raises(BrokenFrame):
        list(Frames().feed(stream))


def test_what_came_before_a_broken_header_is_given_first() -> None:
    bodies = Frames().feed(b"Content-Length: 2\r\n\r\n{}nonsense\n")
    assert next(bodies) == b"{}"
    with pytest.raises(BrokenFrame):
        next(bodies)


@pytest.mark.parametrize("stream", [b"C", b"Content-Length: 5\r\n", b"Content-Length: 5\r\n\r\n", b"\n", b"a: b\n\xef"])
def test_it_is_known_whether_a_message_is_whole(stream: bytes) -> None:
    frames = Frames()
    assert list(frames.feed(stream)) == []
    assert frames.is_within == (stream != b"\n")


@given(JSON)
def test_what_is_encoded_is_decoded_the_same(value: Any) -> None:
    (body,) = Frames().feed(encode(value))
    assert decode(body) == value


@given(JSON)
def test_json_with_a_byte_order_mark_is_read(value: Any) -> None:
    assert decode(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"{]", b"{'a': 1}", b"nul", b'"\xff"', b'"\xc3', b"NaN", b"[Infinity]", b"1 2", b"{}x", b"\x00"),
        *(b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, '{"a": 1}'.encode("utf-16")),
    ],
)
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(body)


def test_what_json_does_not_know_is_told_all_the_same() -> None:
    (body,) = Frames().feed(encode({"path": PurePosixPath("/a"), "size": float("nan"), "most": [float("inf")]}))
    assert decode(body) == {"path": "/a", "size": None, "most": [None]}


def test_half_of_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert decode(rb'{"a": "x\ud83dy", "b": "\ud83c\udf0d"}') == {"a": "x\ufffdy", "b": "🌍"}
    assert decode(encode("\ud83d").partition(b"\r\n\r\n")[2]) == "\ufffd"
