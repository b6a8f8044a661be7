"""JSON-RPC 2.0 as LSP has it: every request is answered exactly once, and what is wrong with one is said in the answer.

It knows neither how bytes travel nor what a method does.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeGuard, cast

from marvin_server.errors import MarvinError
from marvin_server.lsp import framing
from marvin_server.lsp.refusals import Refusal, refusal
from marvin_server.protocol.errors import Code

Params = dict[str, Any]
Request = Callable[[Params], Awaitable[Any]]
Notification = Callable[[Params], None]
MessageId = int | str
_log = logging.getLogger("marvin.lsp")


class Rpc:
    """One connection. ``requests`` and ``notifications`` are what its methods do, by their names.

    ``send`` takes a message for the other side and never waits. ``admit`` is asked first and raises ``Refusal`` for a
    method that may not be called now; a notification is then passed over. So is one without a listener.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        admit: Callable[[str], None],
        requests: Mapping[str, Request],
        notifications: Mapping[str, Notification],
    ) -> None:
        self._send = send
        self._admit = admit
        self._requests = requests
        self._notifications = {"$/cancelRequest": self._cancel, **notifications}
        self._running: dict[MessageId, asyncio.Task[None]] = {}
        self._asked: dict[MessageId, asyncio.Future[Any]] = {}
        self._last_id = 0

    def receive(self, body: bytes) -> None:
        """Take in one message, in the order of arrival; requests go on as tasks of their own."""
        try:
            message = framing.decode(body)
        except ValueError as error:
            self._refuse(None, Refusal(Code.PARSE_ERROR, f"the message is not JSON in UTF-8: {error}"))
            return
        if isinstance(message, list):
            self._refuse_batch(cast("list[Any]", message))
        elif not isinstance(message, dict):
            self._refuse(None, Refusal(Code.INVALID_REQUEST, "a message must be a JSON object"))
        else:
            self._take(cast("dict[str, Any]", message))

    def notify(self, method: str, params: Any) -> None:
        """Tell the other side."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Ask the other side and give its result. Raises ``TimeoutError``, and ``Refusal`` when it answers an error.

        When it gives up, or is cancelled, the other side is told with ``$/cancelRequest``, and an answer that comes
        later is passed over.
        """
        self._last_id += 1
        asked = self._last_id
        answer = self._asked[asked] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": asked, "method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            del self._asked[asked]
            if answer.cancelled():
                self.notify("$/cancelRequest", {"id": asked})

    def cancel_all(self, *, but: str) -> None:
        """Cancel the requests that are being answered, except those of the method ``but``."""
        for task in tuple(self._running.values()):
            if task.get_name() != but:
                task.cancel()

    def _take(self, message: dict[str, Any]) -> None:
        given = message.get("id")
        valid = given if _is_id(given) else None
        method, params = message.get("method"), message.get("params")
        if message.get("jsonrpc") != "2.0":
            self._refuse(valid, Refusal(Code.INVALID_REQUEST, 'a message must have "jsonrpc": "2.0"'))
        elif "method" not in message and "id" in message and ("result" in message or "error" in message):
            self._settle(given, message)
        elif not isinstance(method, str):
            self._refuse(valid, Refusal(Code.INVALID_REQUEST, "a message must have a method, or be an answer"))
        elif "id" in message and valid is None:
            self._refuse(None, Refusal(Code.INVALID_REQUEST, "the id of a request must be an integer or a string"))
        elif params is not None and not isinstance(params, dict):
            wrong = Code.INVALID_PARAMS if isinstance(params, list) else Code.INVALID_REQUEST
            self._refuse(valid, Refusal(wrong, "params must be an object with names"))
        elif valid is None:
            self._hear(method, cast("Params", params or {}))
        elif valid in self._running:
            self._refuse(valid, Refusal(Code.INVALID_REQUEST, f"a request with the id {valid!r} is still running"))
        else:
            self._begin(valid, method, cast("Params", params or {}))

    def _begin(self, request_id: MessageId, method: str, params: Params) -> None:
        try:
            self._admit(method)
        except Refusal as refused:
            self._refuse(request_id, refused)
            return
        task = asyncio.create_task(self._answer(request_id, method, params), name=method)
        self._running[request_id] = task
        task.add_done_callback(lambda _: self._end(request_id))

    async def _answer(self, request_id: MessageId, method: str, params: Params) -> None:
        """Answer one request. Nothing else runs between the end of its method and the answer."""
        try:
            if method not in self._requests:
                raise Refusal(Code.METHOD_NOT_FOUND, f"there is no method {method!r}")
            outcome = {"result": await self._requests[method](params)}
        except Refusal as refused:
            outcome = {"error": refused.to_wire()}
        except MarvinError as error:
            outcome = {"error": refusal(error).to_wire()}
        except Exception as error:
            _log.exception("%s crashed", method)
            text = f"{method} failed: {type(error).__name__}: {error} (the log has more)"
            outcome = {"error": Refusal(Code.INTERNAL_ERROR, text).to_wire()}
        del self._running[request_id]
        self._send({"jsonrpc": "2.0", "id": request_id, **outcome})

    def _end(self, request_id: MessageId) -> None:
        """A request that was cancelled, even before its first step, is answered too."""
        if self._running.pop(request_id, None):
            self._refuse(request_id, Refusal(Code.CANCELLED, "the request was cancelled", retryable=True))

    def _hear(self, method: str, params: Params) -> None:
        try:
            if listener := self._notifications.get(method):
                self._admit(method)
                listener(params)
        except Refusal as refused:
            _log.info("%s was passed over: %s", method, refused)
        except Exception:
            _log.exception("%s crashed", method)

    def _cancel(self, params: Params) -> None:
        request_id = params.get("id")
        task = self._running.get(request_id) if _is_id(request_id) else None
        if task is not None:
            task.cancel()

    def _settle(self, request_id: Any, answer: dict[str, Any]) -> None:
        future = self._asked.get(request_id) if _is_id(request_id) else None
        if future is None or future.done():
            _log.info("an answer to no open request was passed over: id %r", request_id)
        elif ("error" in answer) == ("result" in answer) or not isinstance(answer.get("error", {}), dict):
            future.set_exception(Refusal(Code.FAILED, "the client's answer is neither a result nor an error"))
        elif "error" in answer:
            future.set_exception(Refusal(Code.FAILED, str(answer["error"].get("message", "the client refused"))))
        else:
            future.set_result(answer["result"])

    def _refuse_batch(self, messages: list[Any]) -> None:
        objects = [cast("dict[str, Any]", message) for message in messages if isinstance(message, dict)]
        ids = [message["id"] for message in objects if "method" in message and _is_id(message.get("id"))]
        for request_id in ids or [None]:
            text = "LSP has no batches: send each message by itself"
            self._refuse(request_id, Refusal(Code.INVALID_REQUEST, text))

    def _refuse(self, request_id: MessageId | None, refused: Refusal) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "error": refused.to_wire()})


def _is_id(value: Any) -> TypeGuard[MessageId]:
    return isinstance(value, int | str) and not isinstance(value, bool)
