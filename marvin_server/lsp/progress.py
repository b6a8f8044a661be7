"""Work-done progress: how an editor without a plugin shows that something runs, with a way to cancel it."""

from collections.abc import Callable
from typing import Any

from marvin_server.lsp.pages import Request
from marvin_server.lsp.refusals import Refusal
from marvin_server.messages import new_id
from marvin_server.sanitise import one_line

Token = int | str
_WAIT_SECONDS = 5.0
_LONGEST = 120


class Progresses:
    """What is shown at the moment. ``tell`` sends a notification; ``can_create`` says whether the client takes tokens
    of ours."""

    def __init__(self, request: Request, tell: Callable[[str, Any], None], *, can_create: bool) -> None:
        self._request = request
        self._tell = tell
        self._can_create = can_create
        self._cancels: dict[Token, Callable[[], object]] = {}

    async def begin(self, title: str, cancel: Callable[[], object], given: Token | None = None) -> "Progress":
        """Show that ``title`` runs, under the token that the client has given, or one of ours; ``cancel`` is called
        when the person wants it to end. Where the client can show nothing, nothing is shown."""
        token = given
        if token is None and self._can_create:
            created = f"marvin-{new_id()}"
            try:
                await self._request("window/workDoneProgress/create", {"token": created}, _WAIT_SECONDS)
                token = created
            except (Refusal, TimeoutError):
                pass
        progress = Progress(self, token)
        if token is not None:
            self._cancels[token] = cancel
            progress.show({"kind": "begin", "title": title, "cancellable": True})
        return progress

    def cancel(self, params: dict[str, Any]) -> None:
        """``window/workDoneProgress/cancel``."""
        token = params.get("token")
        if isinstance(token, int | str) and (cancel := self._cancels.get(token)):
            cancel()

    def show(self, token: Token, value: dict[str, Any]) -> None:
        """Send ``$/progress``; after the end nothing more is sent."""
        if token in self._cancels:
            self._tell("$/progress", {"token": token, "value": value})
        if value["kind"] == "end":
            self._cancels.pop(token, None)


class Progress:
    """One of them, perhaps without anything to be seen."""

    def __init__(self, all_: Progresses, token: Token | None) -> None:
        self._all = all_
        self._token = token

    def show(self, value: dict[str, Any]) -> None:
        if self._token is not None:
            self._all.show(self._token, value)

    def report(self, message: str) -> None:
        """What is going on now, in one line."""
        self.show({"kind": "report", "message": one_line(message, _LONGEST), "cancellable": True})

    def end(self, message: str) -> None:
        """It is over."""
        self.show({"kind": "end", "message": one_line(message, _LONGEST)})
