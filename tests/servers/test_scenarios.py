"""Every named scenario yields what its name says."""

import http.client
import json
import socket
from dataclasses import replace
from email.utils import parsedate_to_datetime

import pytest

from tests.servers.model_server import ThreadedModelServer
from tests.servers.plain_client import STREAM_REQUEST, Got, payloads, post, said, understand
from tests.servers.reply import CALL, DONE, GREETING, OTHER_CALL, Call, Said
from tests.servers.scenarios import HTML, SCENARIOS, STATUSES, cut_after, redirect

HELLO = said(GREETING)
THOUGHTFUL = replace(HELLO, thoughts="Let me think.")
ONE_CALL = said(Said((CALL,)))
TWO_CALLS = said(Said((CALL, OTHER_CALL)))
YIELDS = {
    **dict.fromkeys(("text", "byte-by-byte", "split-utf8", "crlf", "crlf-byte-by-byte", "cr", "bom"), HELLO),
    **dict.fromkeys(("bom-byte-by-byte", "content-length", "close-delimited", "slow-head"), HELLO),
    **dict.fromkeys(("comments", "pings", "other-fields", "multi-line-data", "no-space-after-colon"), HELLO),
    **dict.fromkeys(("no-done", "content-null"), HELLO),
    **dict.fromkeys(("usage-without-choices", "usage-beside-finish", "usage-in-every-chunk"), HELLO),
    **dict.fromkeys(("thoughts", "reasoning", "reasoning-content"), THOUGHTFUL),
    **dict.fromkeys(("tool-call", "50-rounds", "tool-call-whole", "tool-call-no-index"), ONE_CALL),
    **dict.fromkeys(("tool-call-id-in-every-fragment", "arguments-as-object"), ONE_CALL),
    **dict.fromkeys(("tool-call-no-id", "tool-call-empty-id"), said(Said((replace(CALL, id=""),)))),
    **dict.fromkeys(("two-tool-calls", "two-tool-calls-no-index"), TWO_CALLS),
    **dict.fromkeys(("two-tool-calls-index-zero", "two-tool-calls-interleaved"), TWO_CALLS),
    "no-finish-reason": replace(HELLO, finish=None),
    "unknown-finish": replace(HELLO, finish="because"),
    "text-and-tool-call": said(Said((*GREETING.parts, CALL))),
    "tool-call-finish-stop": replace(ONE_CALL, finish="stop"),
    "empty-reply": Got(finish="stop"),
    "error-event": Got("Hello"),
    "error-in-chunk": Got("Hello", finish="error"),
    "error-first": Got(),
    "overflow-in-stream": Got(),
    "empty-body": Got(),
    "arguments-double-encoded": said(Said((Call("read_file", json.dumps(CALL.arguments)),))),
    "arguments-not-json": said(Said((Call("read_file", "path=README.md"),))),
    "arguments-cut": said(Said((Call("read_file", '{"path": "READ'),))),
    "no-arguments": said(Said((Call("git_status", ""),))),
    "unknown-tool": said(Said((Call("read_fil", CALL.arguments),))),
    "10-megabytes-in-one-line": Got("x" * 10_000_000, finish="stop"),
    "20000-deltas-batched": Got("".join(f"word{number} " for number in range(20_000)), finish="stop"),
    "20000-deltas": Got("".join(f"word{number} " for number in range(20_000)), finish="stop"),
}
ELSEWHERE = {
    *(f"status-{code}" for code in STATUSES),
    *("status-429-seconds", "status-429-date", "status-503-seconds", "overflow", "html-200", "html-502", "redirect"),
    *("closed-before-head", "closed-after-head", "cut", "cut-content-length", "cut-tool-call"),
    *("silent-before-head", "silent-after-head", "stall", "gated", "paced-deltas", "gzip", "broken-gzip"),
    *("plain-json", "plain-json-tool-call", "not-json-chunk", "10-megabytes-of-nothing"),
}


def test_every_scenario_is_looked_at_here() -> None:
    assert set(SCENARIOS) == YIELDS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", sorted(YIELDS))
def test_a_streamed_scenario_yields_what_it_says(name: str, model_server: ThreadedModelServer) -> None:
    model_server.play(name)
    response, body = post(model_server)
    assert (response.status, understand(body)) == (200, YIELDS[name])


@pytest.mark.parametrize("name", [name for name, got in YIELDS.items() if got.calls and name != "50-rounds"])
def test_after_a_tool_call_the_next_reply_is_done_and_then_it_starts_over(
    name: str, model_server: ThreadedModelServer
) -> None:
    model_server.play(name)
    rounds = [understand(post(model_server)[1]) for _ in range(3)]
    assert rounds == [YIELDS[name], said(DONE), YIELDS[name]]


@pytest.mark.parametrize("code", STATUSES)
def test_a_refusal_has_its_status_and_the_vendors_error_body(code: int, model_server: ThreadedModelServer) -> None:
    model_server.play(f"status-{code}")
    response, body = post(model_server)
    assert response.status == code
    assert json.loads(body)["error"].keys() == {"message", "type", "param", "code"}


def test_retry_after_comes_in_seconds_and_as_a_date(model_server: ThreadedModelServer) -> None:
    model_server.play("status-429-seconds")
    assert post(model_server)[0].getheader("Retry-After") == "1"
    model_server.play("status-429-date")
    date = post(model_server)[0].getheader("Retry-After") or ""
    assert parsedate_to_datetime(date).tzinfo is not None


def test_answers_that_are_no_model_replies(model_server: ThreadedModelServer) -> None:
    seen: dict[str, tuple[int, str | None, bytes]] = {}
    for name in ("html-200", "html-502", "overflow", "10-megabytes-of-nothing", "not-json-chunk"):
        model_server.play(name)
        response, body = post(model_server)
        seen[name] = (response.status, response.getheader("Content-Type"), body)
    assert seen["html-200"] == (200, "text/html; charset=utf-8", HTML)
    assert seen["html-502"] == (502, "text/html", HTML)
    assert seen["overflow"][0] == 400
    assert json.loads(seen["overflow"][2])["error"]["code"] == "context_length_exceeded"
    assert len(seen["10-megabytes-of-nothing"][2]) == 10_000_000
    assert list(payloads(seen["not-json-chunk"][2]))[1:] == ["{not json", "[DONE]"]


def test_a_redirect_names_the_other_host(model_server: ThreadedModelServer) -> None:
    model_server.play("redirect")
    assert post(model_server)[0].getheader("Location") == "http://marvin.invalid/v1/chat/completions"
    model_server.play([redirect("http://127.0.0.1:1/")])
    response, _ = post(model_server)
    assert (response.status, response.getheader("Location")) == (307, "http://127.0.0.1:1/")


@pytest.mark.parametrize("writes", range(7))
def test_a_cut_reply_ends_after_so_many_events(writes: int, model_server: ThreadedModelServer) -> None:
    whole = post(model_server)[1]
    model_server.play([cut_after(writes)])
    with pytest.raises(http.client.IncompleteRead) as broken:
        post(model_server)
    request = model_server.wait_for_disconnect(2)
    assert broken.value.partial == b"".join(event + b"\n\n" for event in whole.split(b"\n\n")[:writes])
    assert (len(request.writes), request.closed_by) == (writes, "server")


@pytest.mark.parametrize("name", ["cut", "cut-content-length", "cut-tool-call", "closed-after-head"])
def test_a_cut_scenario_is_an_incomplete_reply(name: str, model_server: ThreadedModelServer) -> None:
    model_server.play(name)
    with pytest.raises(http.client.IncompleteRead):
        post(model_server)


def test_a_connection_can_be_closed_before_the_first_byte(model_server: ThreadedModelServer) -> None:
    model_server.play("closed-before-head")
    with pytest.raises(http.client.RemoteDisconnected):
        post(model_server)
    assert model_server.wait_for_disconnect().bytes_sent == 0


@pytest.mark.parametrize(("name", "writes"), [("silent-before-head", 0), ("silent-after-head", 0), ("stall", 3)])
def test_a_stalled_reply_is_silent_until_the_client_leaves(
    name: str, writes: int, model_server: ThreadedModelServer
) -> None:
    model_server.play(name)
    with socket.create_connection(("127.0.0.1", int(model_server.origin.rpartition(":")[2])), timeout=5) as client:
        client.sendall(STREAM_REQUEST)
        received = b""
        while received.count(b"data: ") < writes:
            received += client.recv(65_536)
        model_server.wait_for_request()
    request = model_server.wait_for_disconnect()
    assert (len(request.writes), request.closed_by) == (writes, "client")
