"""An editor in this process: texts in memory over real files, in which a person can type at any moment."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from marvin_server.edits.lines import alike
from marvin_server.edits.merge import merge
from marvin_server.errors import ToolError
from marvin_server.workspace.editor import Buffer, BufferEdit


class UndoStep(NamedTuple):
    label: str
    paths: tuple[str, ...]


class MemoryEditor:
    """``steps`` are the edits that were made; ``meanwhile`` is what the person does before the next edit arrives."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._on_disk: dict[str, str | None] = {}
        self._versions: dict[str, int] = {}
        self._encodings: dict[str, str] = {}
        self._typed: set[str] = set()
        self.steps: list[UndoStep] = []
        self.meanwhile: list[Callable[[], object]] = []
        self.is_silent = False
        self._news: list[str] = []

    def open(self, path: Path, *, line_ends: str | None = None, encoding: str = "utf-8") -> None:
        """Open a file, which need not exist; ``line_ends`` are those that the editor uses, whatever the file has, and
        it takes the file's ``encoding`` for what it is."""
        self._encodings[str(path)] = encoding
        text = self._read(path)
        shown = (text or "").replace("\r\n", line_ends) if line_ends else text or ""
        self._texts[str(path)] = shown
        self._on_disk[str(path)] = shown if text is not None else None
        self._versions[str(path)] = 0

    def close(self, path: Path) -> None:
        del self._texts[str(path)]

    def text(self, path: Path) -> str:
        return self._texts[str(path)]

    def type(self, path: Path, text: str) -> None:
        """The person makes ``text`` of a file."""
        self._set(str(path), text)
        self._typed.add(str(path))

    def save_as_person(self, path: Path) -> None:
        path.write_bytes(self._texts[str(path)].encode(self._encodings[str(path)]))
        self._on_disk[str(path)] = self._texts[str(path)]
        self._typed.discard(str(path))

    def buffer(self, path: str) -> Buffer | None:
        if path not in self._texts:
            return None
        is_dirty = self._texts[path] != (self._on_disk[path] or "")
        return Buffer(path, self._texts[path], self._versions[path], is_dirty)

    def buffers(self) -> Sequence[Buffer]:
        return [buffer for path in self._texts if (buffer := self.buffer(path))]

    async def edit(self, label: str, edits: Sequence[BufferEdit]) -> tuple[str, ...]:
        while self.meanwhile:
            self.meanwhile.pop(0)()
        if self.is_silent:
            raise ToolError("not confirmed by the editor")
        texts: list[str] = []
        for edit in edits:
            merged = merge(edit.old, self._texts[edit.path], edit.new)
            if merged.conflicts:
                raise ToolError(f"{edit.path}: the same lines were changed")
            texts.append(merged.text)
        for edit, text in zip(edits, texts, strict=True):
            self._set(edit.path, text)
        self.steps.append(UndoStep(label, tuple(Path(edit.path).name for edit in edits)))
        return tuple(texts)

    async def save(self) -> tuple[str, ...]:
        for buffer in self.buffers():
            if buffer.is_dirty and buffer.path not in self._typed:
                self.save_as_person(Path(buffer.path))
        return tuple(f"{buffer.path} is not saved" for buffer in self.buffers() if buffer.is_dirty)

    async def look(self) -> None:
        self._news += await self.reconcile()

    async def reconcile(self) -> tuple[str, ...]:
        lines, self._news = self._news, list[str]()
        for buffer in self.buffers():
            path = Path(buffer.path)
            now = self._read(path)
            known = self._on_disk[buffer.path]
            if now is None or (known is not None and alike(now, known)):
                continue
            if buffer.is_dirty:
                lines.append(f"{path.name} has unsaved changes and was changed on disk")
            else:
                self._set(buffer.path, now or "")
            self._on_disk[buffer.path] = now
        return tuple(lines)

    def _read(self, path: Path) -> str | None:
        return path.read_bytes().decode(self._encodings[str(path)]) if path.exists() else None

    def _set(self, path: str, text: str) -> None:
        self._texts[path] = text
        self._versions[path] += 1
