"""Publishes one line to a topic of an ntfy server (https://docs.ntfy.sh/publish/)."""

import asyncio

_SECONDS = 5.0


async def publish(server: str, topic: str, title: str, text: str) -> str | None:
    """Publish within 5 s; what went wrong as one line, or None."""
    import httpx

    try:
        async with asyncio.timeout(_SECONDS), httpx.AsyncClient() as client:
            url, headers = f"{server}/{topic}", {"Title": title}
            answer = await client.post(url, content=text.encode("utf-8", "replace"), headers=headers)
    except TimeoutError:
        return f"no answer within {_SECONDS:g} s"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"
    return None if answer.is_success else f"HTTP {answer.status_code}"
