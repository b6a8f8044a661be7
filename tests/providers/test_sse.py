from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import BadRequest
from marvin_server.providers.sse import LIMIT, EventStream, ServerEvent


def read(*chunks: bytes) -> list[ServerEvent]:
    stream = EventStream()
    return [event for chunk in chunks for event in stream.feed(chunk)]


def messages(*data: str) -> list[ServerEvent]:
    return [ServerEvent("message", text) for text in data]


def reference(stream: bytes) -> list[ServerEvent]:
    """The standard's algorithm, word by word, over a whole stream."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    event, data, last_id = "", "", ""
    events: list[ServerEvent] = []
    for line in text.split("\n")[:-1]:
        if line == "":
            if data:
                events.append(ServerEvent(event or "message", data[:-1], last_id))
            event, data = "", ""
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match field:
                case "event":
                    event = value
                case "data":
                    data += value + "\n"
                case "id" if "\0" not in value:
                    last_id = value
                case _:
                    pass
    return events


LINES = st.sampled_from(
    [
        *(
            b"data",
            b"data:",
            b"data: ",
            b"data:  x",
            b"data: x",
            b"data:caf\xc3\xa9 \xf0\x9f\x8e\x89",
            b"data: \xff\xf0\x9f",
        ),
        *(b"event: error", b"event", b"id: 7", b"id", b"id: a\0b", b"retry: 10", b": OPENROUTER PROCESSING", b":", b""),
        *(b"Data: x", b" data: x", b"\xef\xbb\xbfdata: x", b"data: \xe2\x80\xa8 \x0b\x0c\x85"),
    ]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b""])
STREAMS = st.one_of(
    st.binary(max_size=60),
    st.tuples(st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=12)).map(
        lambda parts: parts[0] + b"".join(parts[1])
    ),
)


@given(STREAMS, st.lists(st.integers(min_value=0, max_value=400)))
def test_any_chunking_of_any_stream_gives_the_events_of_the_standard(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert read(*chunks) == reference(stream)


@given(STREAMS)
def test_a_stream_fed_byte_by_byte_gives_the_events_of_the_standard(stream: bytes) -> None:
    assert read(*(stream[index : index + 1] for index in range(len(stream)))) == reference(stream)


def test_events_carry_their_name_their_data_and_the_last_id() -> None:
    stream = b"id: 1\nevent: error\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"
    assert read(stream) == [
        ServerEvent("error", "a", "1"),
        ServerEvent("message", "b", "1"),
        ServerEvent("message", "c"),
    ]


def test_several_data_lines_are_joined_by_newlines() -> None:
    assert read(b"data: one\ndata\ndata:two\n\n") == messages("one\n\ntwo")


def test_a_carriage_return_at_the_end_of_a_chunk_completes_its_line_at_once() -> None:
    stream = EventStream()
    assert stream.feed(b"data: a\r\n\r") == messages("a")
    assert stream.feed(b"\ndata: b\r\n\r\n") == messages("b")


def test_a_character_split_over_chunks_is_whole() -> None:
    raw = "data: 🎉\n\n".encode()
    assert read(raw[:7], raw[7:9], raw[9:]) == messages("🎉")


def test_the_end_of_the_stream_completes_an_event_whose_data_is_whole() -> None:
    for stream, expected in {
        b'data: {"a": 1}': messages('{"a": 1}'),
        b'data: {"a": 1}\n': messages('{"a": 1}'),
        b"data: [DONE]\r": messages("[DONE]"),
        b"event: error\ndata: {}": [ServerEvent("error", "{}")],
        b'data: {"a": ': [],
        b"data: x\n\n": [],
        b"": [],
    }.items():
        reader = EventStream()
        reader.feed(stream)
        assert reader.close() == expected


@pytest.mark.timeout(10)
def test_an_event_of_thirty_megabytes_in_small_chunks_is_read_without_copying_it_for_each_chunk() -> None:
    text = "x" * 30_000_000
    line = b"data: " + text.encode() + b"\n\n"
    assert read(*(line[start : start + 1024] for start in range(0, len(line), 1024))) == messages(text)


def test_an_event_beyond_the_limit_is_refused() -> None:
    stream = EventStream()
    for _ in range(LIMIT // 1_000_000):
        stream.feed(b"x" * 1_000_000)
    with pytest.raises(BadRequest, match="more than 32 MB"):
        stream.feed(b"x")


def test_keep_alive_comments_never_reach_the_limit() -> None:
    stream = EventStream()
    ping = b": ping\n\n" * 100_000
    for _ in range(60):
        assert stream.feed(ping) == []
