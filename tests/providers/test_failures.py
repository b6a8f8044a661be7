import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from marvin_server.errors import (
    Auth,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
)
from marvin_server.providers.failures import Endpoint, refused, reported

ACME = Endpoint("Acme", "https://me:pw@api.acme.example/v1", "sk-secret", check_key="ACME_KEY", check_url="ACME_URL")


def openai(message: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, openai("Incorrect API key provided"), Auth),
        (403, openai("Country not supported"), Auth),
        (400, openai("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), Auth),
        (429, openai("You exceeded your current quota", code="insufficient_quota"), Auth),
        (429, openai("Rate limit reached"), RateLimited),
        (503, b"", Overloaded),
        (529, b"", Overloaded),
        (500, b"oops", Overloaded),
        (502, b"<html><h1>502 Bad Gateway</h1></html>", Overloaded),
        (408, b"", TimedOut),
        (504, b"", TimedOut),
        (400, openai("too long", code="context_length_exceeded"), ContextOverflow),
        (400, openai("This endpoint's maximum context length is 40960 tokens."), ContextOverflow),
        (400, openai("the request exceeds", type="exceed_context_size_error"), ContextOverflow),
        (400, openai("The input token count (1) exceeds the maximum number of tokens allowed"), ContextOverflow),
        (413, openai("Request too large for model"), ContextOverflow),
        (422, openai("too many tokens: 9000"), ContextOverflow),
        (400, openai("Invalid value"), BadRequest),
        (402, openai("Insufficient credits"), BadRequest),
        (404, openai("The model does not exist"), BadRequest),
    ],
)
def test_a_status_and_its_words_decide_the_kind(status: int, body: bytes, kind: type[ProviderError]) -> None:
    error = refused(ACME, status, {}, body)
    assert (type(error), error.status) == (kind, status)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (openai("Model not found."), "Model not found"),
        (b'[{"error": {"code": 400, "message": "Bad field"}}]', "Bad field"),
        (b'{"detail": [{"msg": "Field required"}]}', "Field required"),
        (b'{"error": "model is loading"}', "model is loading"),
        (b'{"object": "error", "message": "no such model"}', "no such model"),
        (openai("Provider returned error", metadata={"raw": "no GPU"}), "Provider returned error: no GPU"),
        (b"just\n\n text \x1b[31m", "just text [31m"),
        (b"", "no reason given"),
        (b"{}", "{}"),
    ],
)
def test_the_vendors_own_message_is_shown(body: bytes, words: str) -> None:
    assert str(refused(ACME, 409, {}, body)) == f"Acme (api.acme.example) answered 409: {words}"


def test_a_key_is_masked_and_a_long_message_cut() -> None:
    error = refused(ACME, 401, {}, openai("the key sk-secret is wrong" + " x" * 1000))
    assert str(error).startswith("Acme (api.acme.example) answered 401: the key *** is wrong x x")
    assert str(error).endswith("…; check ACME_KEY, or run: marvin doctor")
    assert "sk-secret" not in repr(ACME)


def test_a_web_page_says_that_the_url_may_be_wrong() -> None:
    page = b"<!doctype html><title>404</title><h1>Not Found</h1>"
    assert str(refused(ACME, 404, {"content-type": "text/html"}, page)) == (
        "Acme (api.acme.example) answered 404 with text/html instead of a model's answer ('404 Not Found'); "
        "the URL may be wrong: check ACME_URL"
    )


def test_a_redirect_names_the_host_that_it_leads_to() -> None:
    error = refused(ACME, 307, {"location": "https://elsewhere.example/v1"}, b"")
    assert (type(error), "redirects to elsewhere.example" in str(error)) == (BadRequest, True)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, b"", 7.0),
        ({"retry-after": "0.5"}, b"", 0.5),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, b"", 0.0),
        ({"retry-after": "soon"}, b"", None),
        ({}, openai("slow down", details=[{"@type": "x/google.rpc.RetryInfo", "retryDelay": "34.5s"}]), 34.5),
        ({}, b"", None),
    ],
)
def test_the_time_to_wait_is_read_in_seconds(headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    assert refused(ACME, 429, headers, body).retry_after == seconds


def test_the_time_to_wait_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    wait = refused(ACME, 503, {"retry-after": date}, b"").retry_after
    assert wait is not None
    assert 50 < wait <= 100


@pytest.mark.parametrize(
    ("error", "kind", "status"),
    [
        ({"code": 502, "message": "x"}, Overloaded, 502),
        ({"code": "429", "message": "x"}, RateLimited, 429),
        ({"code": "rate_limit_exceeded", "message": "x"}, RateLimited, 429),
        ({"type": "overloaded_error", "message": "x"}, Overloaded, 529),
        ({"type": "authentication_error", "message": "x"}, Auth, 401),
        ({"type": "invalid_request_error", "message": "x"}, BadRequest, 400),
        ({"code": None, "message": "x"}, Overloaded, 500),
        ("out of memory", Overloaded, 500),
        ({"type": "invalid_request_error", "code": "context_length_exceeded"}, ContextOverflow, 400),
    ],
)
def test_an_error_within_a_stream_stands_for_a_status(error: object, kind: type[ProviderError], status: int) -> None:
    found = reported(ACME, error)
    assert (type(found), found.status) == (kind, status)
