"""The way out: a reader that is slow, or gone, never holds anybody up."""

import asyncio
import os

from marvin_server.writer import FULL, Writer
from tests.patience import SECONDS


async def test_a_slow_reader_gets_everything_in_order_and_is_waited_for_by_nobody() -> None:
    reading, writing = os.pipe()
    broken = asyncio.Event()
    writer = Writer(writing, broken.set)
    frames = [f"{number:07}\n".encode() * 1000 for number in range(400)]
    started = asyncio.get_running_loop().time()
    for frame in frames:
        writer.write(frame)
    assert asyncio.get_running_loop().time() - started < 1
    assert writer.is_full
    roomy = asyncio.Event()
    writer.when_not_full(roomy.set)
    assert not writer.flush(0.01)
    read = b""
    while len(read) < FULL:
        read += await asyncio.to_thread(os.read, reading, 65_536)
    assert not roomy.is_set() or not writer.is_full
    while len(read) < sum(map(len, frames)):
        read += await asyncio.to_thread(os.read, reading, 65_536)
    await asyncio.wait_for(roomy.wait(), SECONDS)
    assert read == b"".join(frames)
    assert writer.flush(5)
    os.close(reading)
    writer.write(b"x")
    await asyncio.wait_for(broken.wait(), SECONDS)
    assert writer.flush(5)
    os.close(writing)


async def test_room_that_is_there_is_told_at_once() -> None:
    reading, writing = os.pipe()
    writer = Writer(writing, lambda: None)
    roomy = asyncio.Event()
    writer.when_not_full(roomy.set)
    await asyncio.wait_for(roomy.wait(), SECONDS)
    for descriptor in (reading, writing):
        os.close(descriptor)
