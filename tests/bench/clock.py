"""A model that tells the time: every open answer gets the same delta, the moment in nanoseconds, at a steady rate.

``python -m tests.bench.clock RATE SECONDS`` prints its port. Answers end together, ``SECONDS`` after all of ``--for``
requests have come.
"""

import argparse
import asyncio
import json
import time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def delta(text: str) -> bytes:
    return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode()


async def main(rate: float, seconds: float, wanted: int) -> None:
    open_answers: list[asyncio.StreamWriter] = []
    complete = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(length)
        writer.write(HEAD)
        open_answers.append(writer)
        if len(open_answers) == wanted:
            complete.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await complete.wait()
    started = time.monotonic()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(started + number / rate - time.monotonic())
        told = delta(f"{time.time_ns()} ")
        for writer in open_answers:
            writer.write(told)
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    for writer in open_answers:
        writer.write(end)
        await writer.drain()
        writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--for", type=int, default=1, dest="wanted")
    asked = parser.parse_args()
    asyncio.run(main(asked.rate, asked.seconds, asked.wanted))
