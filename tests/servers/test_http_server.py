"""The scripted server's own promises."""

import asyncio
import gc
import socket

from tests.servers.http_server import Answer, HttpServer, Request


def _never(request: Request) -> Answer:
    raise AssertionError(f"nobody sends a request, but {request.path} came")


async def test_a_connection_that_comes_as_the_server_closes_is_closed_with_it() -> None:
    for passes in range(5):
        async with HttpServer(_never) as server:
            client = socket.create_connection(("127.0.0.1", server.port))
            for _ in range(passes):
                await asyncio.sleep(0)
        client.close()
    gc.collect()  # a transport that was left behind would be a warning, and that an error
