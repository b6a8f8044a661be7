"""The floor for the benchmarks: a bare httpx script that streams chat completions to stdout, as one would write it."""

import asyncio
import json
import sys

import httpx


async def main(url: str, rounds: int) -> None:
    messages = [{"role": "user", "content": "Say hello"}]
    async with httpx.AsyncClient(timeout=60) as client:
        for _ in range(rounds):
            body = {"model": "test-model", "messages": messages, "stream": True}
            async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: ") and line != "data: [DONE]":
                        choices = json.loads(line[6:])["choices"]
                        if choices and (text := choices[0]["delta"].get("content")):
                            sys.stdout.write(text)
                            sys.stdout.flush()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
