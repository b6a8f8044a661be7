"""JSON-RPC without a transport: every request is answered once, and what is wrong is said."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import Auth, NoSession, RateLimited, SessionOwned, UsageError
from marvin_server.lsp.refusals import Refusal
from marvin_server.lsp.rpc import Rpc
from marvin_server.protocol.errors import Code
from tests.lsp.test_framing import JSON

WITHDRAWN = ("$/cancelRequest", {"id": 1})


class Wire:
    """A connection whose methods echo, hang, crash and refuse."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.heard: list[Any] = []
        requests = {"echo": self.echo, "hang": self.hang, "crash": self.crash, "fail": self.fail}
        self.rpc = Rpc(self.sent.append, self.admit, requests, {"hear": self.heard.append, "crash": self.crash_at_once})
        self.error: Exception = Refusal(Code.FAILED, "no")

    def admit(self, method: str) -> None:
        if method == "early":
            raise Refusal(Code.NOT_INITIALIZED, "send initialize first")

    async def echo(self, params: Any) -> Any:
        return params

    async def hang(self, _: Any) -> Any:
        await asyncio.Event().wait()

    async def crash(self, _: Any) -> Any:
        raise KeyError("oh")

    async def fail(self, _: Any) -> Any:
        raise self.error

    def crash_at_once(self, _: Any) -> None:
        raise KeyError("oh")

    def receive(self, message: Any) -> None:
        self.rpc.receive(message if isinstance(message, bytes) else json.dumps(message).encode())

    async def settle(self) -> list[Any]:
        """What was sent, once every task that can end has."""
        for _ in range(5):
            await asyncio.sleep(0)
        return self.sent


def request(method: str, request_id: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, **more}


def codes(sent: list[Any]) -> list[tuple[Any, int]]:
    return [(message["id"], message["error"]["code"]) for message in sent]


@pytest.mark.parametrize(
    ("message", "request_id", "code"),
    [
        (b"", None, -32700),
        (b"{", None, -32700),
        (b"\xff\xff", None, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo"', None, -32700),
        (b'{"id": NaN}', None, -32700),
        (None, None, -32600),
        (1, None, -32600),
        ("text", None, -32600),
        (True, None, -32600),
        ({}, None, -32600),
        ({"id": 1}, 1, -32600),
        ({"id": 1, "method": "echo"}, 1, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "echo"}, 1, -32600),
        ({"jsonrpc": 2.0, "id": 1, "method": "echo"}, 1, -32600),
        ({"jsonrpc": "2.0"}, None, -32600),
        ({"jsonrpc": "2.0", "id": 1}, 1, -32600),
        (request(None), 1, -32600),  # type: ignore[arg-type]
        (request(7), 1, -32600),  # type: ignore[arg-type]
        (request({"jsonrpc": "2.0"}), 1, -32600),  # type: ignore[arg-type]
        (request("echo", None), None, -32600),
        (request("echo", 1.5), None, -32600),
        (request("echo", True), None, -32600),
        (request("echo", {}), None, -32600),
        (request("echo", []), None, -32600),
        (request("echo", params=[]), 1, -32602),
        (request("echo", params=[1]), 1, -32602),
        (request("echo", params=1), 1, -32600),
        (request("echo", params="x"), 1, -32600),
        (request("echo", params=False), 1, -32600),
        (request("nothing"), 1, -32601),
        (request(""), 1, -32601),
        (request("$/nothing"), 1, -32601),
        (request("hear"), 1, -32601),
        (request("early", "a"), "a", -32002),
        (request("crash"), 1, -32603),
        ([], None, -32600),
        ([1, None], None, -32600),
        ([request("echo", 7)], 7, -32600),
    ],
)
async def test_what_is_wrong_with_a_message_is_said_in_one_answer(message: Any, request_id: Any, code: int) -> None:
    wire = Wire()
    wire.receive(message)
    assert codes(await wire.settle()) == [(request_id, code)]
    wire.receive(request("echo", 2, params={"still": "alive"}))
    assert (await wire.settle())[1:] == [{"jsonrpc": "2.0", "id": 2, "result": {"still": "alive"}}]


async def test_each_request_of_a_batch_is_refused() -> None:
    wire = Wire()
    wire.receive([request("echo", 1), {"jsonrpc": "2.0", "method": "hear"}, request("echo", "b")])
    assert codes(await wire.settle()) == [(1, -32600), ("b", -32600)]
    assert wire.heard == []


async def test_params_reach_a_method_as_they_are() -> None:
    wire = Wire()
    odd: Any = {"class": 1, "a-b": {"jsonrpc": "1.0", "id": 4, "method": None}, "": [], "_x": "\u2028"}
    given: list[Any] = [odd, None, {}]
    for number, params in enumerate(given):
        wire.receive(request("echo", number, params=params))
    wire.receive(request("echo", 3))
    assert [message["result"] for message in await wire.settle()] == [odd, {}, {}, {}]


async def test_an_id_that_is_in_use_is_refused_and_the_first_goes_on() -> None:
    wire = Wire()
    for _ in range(2):
        wire.receive(request("hang"))
    assert codes(await wire.settle()) == [(1, -32600)]
    wire.receive({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}})
    assert codes(await wire.settle()) == [(1, -32600), (1, -32800)]


async def test_a_request_is_cancelled_before_and_while_it_runs_and_answered_once() -> None:
    wire = Wire()
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}
    wire.receive(request("hang"))
    wire.receive(cancel)
    assert codes(await wire.settle()) == [(1, -32800)]
    wire.receive(request("hang"))
    await wire.settle()
    wire.receive(cancel)
    wire.receive(cancel)
    assert codes(await wire.settle()) == [(1, -32800)] * 2
    others: list[Any] = [{"id": 99}, {"id": None}, {"id": {}}, {}]
    for params in others:
        wire.receive({**cancel, "params": params})
    assert len(await wire.settle()) == 2


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NoSession("gone"), {"code": 1001, "message": "gone", "data": {"kind": "sessionNotFound", "retryable": False}}),
        (SessionOwned("x"), {"code": 1002, "message": "x", "data": {"kind": "turnActive", "retryable": True}}),
        (Auth("key"), {"code": 1003, "message": "key", "data": {"kind": "authRequired", "retryable": False}}),
        (
            RateLimited("slow", status=429, retry_after=1.5),
            {
                "code": 1004,
                "message": "slow",
                "data": {"kind": "provider", "retryable": True, "status": 429, "retryAfterMs": 1500},
            },
        ),
        (UsageError("no"), {"code": -32602, "message": "no", "data": {"kind": "invalidParams", "retryable": False}}),
    ],
)
async def test_an_error_of_ours_has_its_code(error: Exception, expected: Any) -> None:
    wire = Wire()
    wire.error = error
    wire.receive(request("fail"))
    assert (await wire.settle())[0]["error"] == expected


async def test_notifications_are_never_answered() -> None:
    wire = Wire()
    for method in ("hear", "nothing", "$/nothing", "early", "crash", "echo"):
        wire.receive({"jsonrpc": "2.0", "method": method, "params": {"a": 1}})
    assert await wire.settle() == []
    assert wire.heard == [{"a": 1}]


async def test_the_client_is_asked_and_only_its_own_answer_counts() -> None:
    wire = Wire()
    asking = asyncio.create_task(wire.rpc.request("window/showMessageRequest", {"message": "?"}, 5))
    await wire.settle()
    assert wire.sent == [{"jsonrpc": "2.0", "id": 1, "method": "window/showMessageRequest", "params": {"message": "?"}}]
    others: list[Any] = [2, "1", None, True, 1.0, {}]
    for wrong in others:
        wire.receive({"jsonrpc": "2.0", "id": wrong, "result": "wrong"})
    wire.receive({"jsonrpc": "2.0", "id": 1, "result": {"title": "Yes"}})
    wire.receive({"jsonrpc": "2.0", "id": 1, "result": "late"})
    assert await asking == {"title": "Yes"}
    assert len(await wire.settle()) == 1


@pytest.mark.parametrize(
    "answer", [{"error": {"code": 1, "message": "no"}}, {"error": "no"}, {"result": 1, "error": {}}]
)
async def test_an_answer_that_is_no_result_is_a_refusal(answer: Any) -> None:
    wire = Wire()
    asking = asyncio.create_task(wire.rpc.request("ask", {}, 5))
    await wire.settle()
    wire.receive({"jsonrpc": "2.0", "id": 1, **answer})
    with pytest.raises(Refusal):
        await asking


async def test_a_client_that_does_not_answer_is_given_up() -> None:
    wire = Wire()
    with pytest.raises(TimeoutError):
        await wire.rpc.request("ask", {}, 0.01)
    wire.receive({"jsonrpc": "2.0", "id": 1, "result": "late"})
    assert [(one["method"], one["params"]) for one in await wire.settle()] == [("ask", {}), WITHDRAWN]


async def test_a_question_that_is_not_asked_any_more_is_withdrawn_unless_it_was_answered() -> None:
    wire = Wire()
    first, second = (asyncio.create_task(wire.rpc.request("ask", {}, 5)) for _ in range(2))
    await wire.settle()
    wire.receive({"jsonrpc": "2.0", "id": 2, "result": "yes"})
    assert await second == "yes"
    first.cancel()
    assert [one["method"] for one in await wire.settle()] == ["ask", "ask", "$/cancelRequest"]
    assert (wire.sent[-1]["method"], wire.sent[-1]["params"]) == WITHDRAWN
    assert first.cancelled()


KEYS = st.sampled_from(("jsonrpc", "id", "method", "params", "result", "error", "x"))
VALUES = JSON | st.sampled_from(("2.0", "echo", "hear", "crash", "early", "$/cancelRequest", 1))


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=6) | JSON, max_size=8))
def test_whatever_comes_the_next_request_is_answered(messages: list[Any]) -> None:
    async def run() -> None:
        wire = Wire()
        for message in messages:
            wire.receive(message)
        wire.receive(request("echo", "last", params={"a": 1}))
        sent = await wire.settle()
        assert [message for message in sent if message["id"] == "last"][-1:] == [
            {"jsonrpc": "2.0", "id": "last", "result": {"a": 1}}
        ]

    asyncio.run(run())
