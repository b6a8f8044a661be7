"""A client without a plugin: it knows what LSP says, and answers what the server asks of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lsp.editor import Editor, Message

ALL = {
    "window": {"showDocument": {"support": True}, "workDoneProgress": True},
    "textDocument": {
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}},
            "disabledSupport": True,
        }
    },
}


class PlainEditor:
    """Speaks for ``editor``; requests of the server are taken one after the other, each only once."""

    def __init__(self, editor: Editor, workspace: Path) -> None:
        self.editor = editor
        self.workspace = workspace
        self._answered: set[Any] = set()

    @classmethod
    async def connect(
        cls, editor: Editor, workspace: Path, capabilities: Message = ALL, **params: Any
    ) -> "PlainEditor":
        folders = [{"uri": workspace.as_uri(), "name": "workspace"}]
        told = {"processId": None, "capabilities": capabilities, "workspaceFolders": folders, **params}
        await editor.request("initialize", told)
        editor.notify("initialized")
        return cls(editor, workspace)

    async def asked(self, method: str, is_right: Callable[[Any], bool] = lambda _: True) -> Message:
        """The next request of this method that has no answer yet."""

        def is_it(message: Message) -> bool:
            wanted = message.get("method") == method and "id" in message and message["id"] not in self._answered
            return wanted and is_right(message["params"])

        return await self.editor.until(is_it)

    def answer(self, request: Message, result: Any) -> None:
        self._answered.add(request["id"])
        self.editor.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def grant(self, method: str, result: Any = None) -> Any:
        """Answer the next request of this method, and give its params."""
        request = await self.asked(method)
        self.answer(request, result)
        return request["params"]

    async def choose(self, title: str | None) -> Any:
        """Choose this answer of the next question, and give the question's params."""
        return await self.grant("window/showMessageRequest", {"title": title} if title else None)

    async def actions(self, file: str = "README.md", context: Any = None) -> list[Message]:
        params: Message = {
            "textDocument": {"uri": (self.workspace / file).as_uri()},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}},
            "context": {"diagnostics": [], **(context or {})},
        }
        return await self.editor.request("textDocument/codeAction", params)

    async def run(self, name: str, file: str = "README.md", **context: Any) -> Message:
        """Run the code action of this name, and give the server's answer."""
        action = next(one for one in await self.actions(file, context) if one["title"] == f"Marvin: {name}")
        return await self.editor.request("workspace/executeCommand", action["command"])

    async def progress(self, kind: str) -> Any:
        """The first ``$/progress`` of this kind, its token in it."""
        message = await self.editor.until(
            lambda one: one.get("method") == "$/progress" and one["params"]["value"]["kind"] == kind
        )
        return message["params"]

    async def message(self) -> Any:
        """The first ``window/showMessage``."""
        return (await self.editor.until(lambda one: one.get("method") == "window/showMessage"))["params"]

    async def page(self) -> str:
        """The text of the next document that is shown."""
        from marvin_server.lsp import folders

        shown = await self.grant("window/showDocument", {"success": True})
        assert shown["takeFocus"] is False
        page = folders.path(shown["uri"])
        assert page.stat().st_mode & 0o077 == 0
        return page.read_text()
