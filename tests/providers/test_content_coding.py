import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.providers.content_coding import decoder


def bare_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


@given(
    body=st.binary(max_size=500),
    coding=st.sampled_from(
        [("gzip", gzip.compress), ("X-GZip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare_deflate)]
    ),
    cuts=st.lists(st.integers(2, 600), max_size=4),
)
def test_a_packed_body_comes_out_whole_however_it_is_cut(
    body: bytes, coding: tuple[str, Callable[[bytes], bytes]], cuts: list[int]
) -> None:
    name, pack = coding
    packed, unpacker = pack(body), decoder(name)
    assert unpacker is not None
    places = [0, *sorted(cuts), max([len(packed), *cuts])]
    unpacked = b"".join(unpacker.feed(packed[start:end]) for start, end in pairwise(places))
    unpacker.close()
    assert unpacked == body


@pytest.mark.parametrize("name", ["", "identity", " Identity "])
def test_an_unpacked_body_needs_no_decoder(name: str) -> None:
    assert decoder(name) is None


@pytest.mark.parametrize("name", ["br", "zstd", "gzip, gzip"])
def test_an_unknown_coding_is_an_error(name: str) -> None:
    with pytest.raises(LookupError):
        decoder(name)


def test_a_body_that_was_never_begun_is_whole() -> None:
    unpacker = decoder("gzip")
    assert unpacker is not None
    unpacker.close()


@pytest.mark.parametrize("body", [gzip.compress(b"hello")[:-1], b"no gzip at all"], ids=["cut short", "not gzip"])
def test_a_damaged_body_is_an_error(body: bytes) -> None:
    unpacker = decoder("gzip")
    assert unpacker is not None
    with pytest.raises(ValueError, match=r"incomplete|incorrect header"):
        unpacker.close() if unpacker.feed(body) else None
