"""Publishes one line to a topic of an ntfy server (https://docs.ntfy.sh/publish/)."""


def publish(server: str, topic: str, title: str, text: str) -> str | None:
    """Publish within 5 s; what went wrong as one line, or None."""
    import httpx

    try:
        answer = httpx.post(
            f"{server}/{topic}",
            content=text.encode("utf-8", "replace"),
            headers={"Title": title},
            timeout=5.0,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"
    return None if answer.is_success else f"HTTP {answer.status_code}"
