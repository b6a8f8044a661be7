"""The part of an editor that has files open: it keeps texts, applies the server's edits, and tells what was typed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "general": {"positionEncodings": ["utf-16"]},
}
_UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class Open(Struct):
    """A text and its version."""

    text: str
    version: int


class Buffers:
    """``send`` takes messages to the server; ``receive`` is to be given all that come from it.

    ``manner`` is how it takes edits: ``honest``, ``lying`` (it skips them and says that they were applied), ``silent``
    (not a word), ``refusing``, or ``mute`` (it applies them and never tells). ``tells_first`` sends the change before
    the answer; ``late`` is in seconds. ``on_edit`` is called when an edit has come, before it is looked at, and
    ``after_edit`` after it was made and before that is told; ``shows`` is what becomes of an edited text, told as one
    change of the whole. A stale edit is refused, or skipped with ``applied: true``
    as Neovim does when it ``lies_when_stale``.
    """

    def __init__(self, send: Callable[[Any], object], encoding: str = "utf-16") -> None:
        self.texts: dict[str, Open] = {}
        self.labels: list[str] = []
        self.edits: list[Any] = []
        self.saved: list[str] = []
        self.manner = "honest"
        self.tells_first = True
        self.lies_when_stale = False
        self.saves = True
        self.late = 0.0
        self.on_edit: Callable[[], object] = lambda: None
        self.after_edit: Callable[[], object] = lambda: None
        self.shows: Callable[[str], str] = lambda text: text
        self.send = send
        self._encoding = encoding
        self._later: set[asyncio.TimerHandle] = set()
        # What was made by an edit and is not told yet; what is typed then is told with it.
        self._untold: dict[str, list[Any]] = {}

    def open(self, path: Path, text: str | None = None, *, uri: str | None = None) -> str:
        """Open the file, with another text than that on disk where one is given, and give its URI."""
        uri = uri or path.as_uri()
        if text is None:
            with path.open(newline="") as file:
                text = file.read()
        self.texts[uri] = Open(text, 1)
        self._notify("didOpen", uri, languageId="text", version=1, text=text)
        return uri

    def close(self, uri: str) -> None:
        del self.texts[uri]
        self._notify("didClose", uri)

    def save(self, uri: str, path: Path) -> None:
        path.write_bytes(self.texts[uri].text.encode())
        self.send(_notification("didSave", {"textDocument": {"uri": uri}, "text": self.texts[uri].text}))

    def type(self, uri: str, start: int, end: int, text: str) -> None:
        """Put ``text`` in the place of the characters from ``start`` up to ``end``."""
        change = self._change(uri, start, end, text)
        if uri in self._untold:
            self._untold[uri].append(change)
        else:
            self._tell(uri, [change])

    def put(self, uri: str, old: str, new: str) -> None:
        """Type ``new`` where ``old`` is."""
        at = self.texts[uri].text.index(old)
        self.type(uri, at, at + len(old), new)

    def text(self, uri: str) -> str:
        return self.texts[uri].text

    def receive(self, message: Any) -> None:
        """Take a message of the server; only requests about documents are of interest."""
        if message.get("method") == "workspace/applyEdit" and self.manner != "silent":
            self.labels.append(message["params"]["label"])
            self.edits.append(message["params"]["edit"])
            if self.late:
                self._later.add(asyncio.get_running_loop().call_later(self.late, self._take, message))
            else:
                self._take(message)
        elif message.get("method") == "workspace/applyEdit":
            self.edits.append(message["params"]["edit"])
        elif message.get("method") == "marvin/document/save":
            self._save_all(message)

    def _save_all(self, message: Any) -> None:
        self.saved += message["params"]["uris"]
        if not self.saves:
            self._answer(message, None)
            return
        for uri in message["params"]["uris"]:
            self.save(uri, Path(uri.removeprefix("file://")))
        self._answer(message, {"saved": message["params"]["uris"]})

    def _take(self, message: Any) -> None:
        self.on_edit()
        edit = message["params"]["edit"]
        listed = edit.get("documentChanges")
        given = (
            [(each["textDocument"]["uri"], each["edits"], each["textDocument"]["version"]) for each in listed]
            if listed is not None
            else [(uri, edits, None) for uri, edits in edit["changes"].items()]
        )
        stale = [uri for uri, _, version in given if version not in (None, self.texts[uri].version)]
        if self.manner == "refusing" or (stale and not self.lies_when_stale):
            self._answer(message, {"applied": False, "failureReason": "stale" if stale else "not today"})
            return
        if self.manner == "lying":
            self._answer(message, {"applied": True})
            return
        before = {uri: self.texts[uri].text for uri, _, _ in given}
        for uri, edits, _ in given:
            if uri not in stale:
                last_first = sorted(edits, key=lambda each: _place(each["range"]["start"]), reverse=True)
                self._untold[uri] = [self._made(uri, each) for each in last_first]
        self.after_edit()
        for uri, old in before.items():
            if (shown := self.shows(self.texts[uri].text)) != self.texts[uri].text:
                self.texts[uri].text = old
                self._untold[uri] = [self._change(uri, 0, len(old), shown)]
        if not self.tells_first:
            self._answer(message, {"applied": True})
        untold, self._untold = self._untold, {}
        for uri, changes in untold.items():
            if self.manner != "mute":
                self._tell(uri, changes)
        if self.tells_first:
            self._answer(message, {"applied": True})

    def _made(self, uri: str, edit: Any) -> Any:
        places = (edit["range"]["start"], edit["range"]["end"])
        start, end = (self._offset(self.texts[uri].text, each) for each in places)
        return self._change(uri, start, end, edit["newText"])

    def _change(self, uri: str, start: int, end: int, text: str) -> Any:
        before = self.texts[uri].text
        self.texts[uri].text = before[:start] + text + before[end:]
        place = {"start": self._position(before, start), "end": self._position(before, end)}
        return {"range": place, "text": text}

    def _tell(self, uri: str, changes: list[Any]) -> None:
        self.texts[uri].version += 1
        document = {"uri": uri, "version": self.texts[uri].version}
        self.send(_notification("didChange", {"textDocument": document, "contentChanges": changes}))

    def _notify(self, name: str, uri: str, **more: Any) -> None:
        self.send(_notification(name, {"textDocument": {"uri": uri, **more}}))

    def _answer(self, message: Any, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _position(self, text: str, offset: int) -> Any:
        head = text[:offset]
        column = head.rpartition("\n")[2].encode(_CODECS[self._encoding])
        return {"line": head.count("\n"), "character": len(column) // _UNITS[self._encoding]}

    def _offset(self, text: str, place: dict[str, int]) -> int:
        lines: list[str] = text.split("\n")
        assert place["line"] < len(lines)
        line = lines[place["line"]].encode(_CODECS[self._encoding])
        size = place["character"] * _UNITS[self._encoding]
        assert size <= len(line)
        within = len(line[:size].decode(_CODECS[self._encoding]))
        return sum(len(each) + 1 for each in lines[: place["line"]]) + within


def _notification(name: str, params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": f"textDocument/{name}", "params": params}


def _place(position: Any) -> tuple[int, int]:
    return position["line"], position["character"]
