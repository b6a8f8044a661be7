"""Markdown that is still being written, as lines: a block is final as soon as the next one begins, a line of code at
its end. Only the block that is open is read again."""

import re
from collections.abc import Callable
from copy import copy

from msgspec import Struct

from marvin_cli.view.cells import EMPTY, Fragment, Line, joined
from marvin_cli.view.code import Code
from marvin_cli.view.spans import spans
from marvin_cli.view.tables import is_rule, table

_QUOTES = re.compile(r"(?: {0,3}> ?)+")
_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})\s*([^\s`{]*)[^`]*")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")
_BREAK = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])(?:\s+(\[[ xX]\])(?=\s))?(?:\s+(.*)|\s*)")
_BULLETS = ("•", "◦", "▪")
# How much of an open block is shown, in characters: more than a screen holds of it is never looked at.
_SHOWN = 4_000


class _Block(Struct):
    """What is open: a paragraph, also of a list or of a heading, or a table. ``first`` begins its first line."""

    texts: list[str]
    quotes: int
    first: str = ""
    margin: str = ""
    is_table: bool = False


class _Fence(Struct, frozen=True):
    code: Code
    end: str
    margin: str
    quotes: int


class Markdown:
    """Takes harmless text in pieces; ``columns`` says how wide the lines may be, where that matters."""

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._tail = ""
        self._block: _Block | None = None
        self._fence: _Fence | None = None
        self._content = 0
        self._gap = False
        self._begun = False

    def feed(self, text: str) -> list[Line]:
        """The lines that are final with this piece."""
        *texts, self._tail = (self._tail + text).split("\n")
        lines: list[Line] = []
        at = 0
        while at < len(texts):
            if self._fence:
                end = next((n for n in range(at, len(texts)) if self._ends(texts[n])), len(texts))
                lines += self._coded(texts[at:end])
                at = end
                if at < len(texts):
                    at += self._is_mark(texts[at])
                    lines += self._leave()
            else:
                lines += self._take(texts[at])
                at += 1
        return lines

    def rest(self) -> list[Line]:
        """The open block as it would be if nothing more came."""
        trial = copy(self)
        trial._tail = self._tail[-_SHOWN:]
        if self._block:
            trial._block = copy(self._block)
            kept = 0
            trial._block.texts = []
            for text in reversed(self._block.texts):
                trial._block.texts.insert(0, text[-_SHOWN:])
                kept += len(text)
                if kept > _SHOWN and not self._block.is_table:
                    break
        if self._fence:
            code = copy(self._fence.code)
            trial._fence = _Fence(code, self._fence.end, self._fence.margin, self._fence.quotes)
        return trial.end()

    def end(self) -> list[Line]:
        """What is left when no more text comes; the next piece begins anew."""
        lines = self.feed("\n") if self._tail else []
        lines += self._leave() if self._fence else self._close()
        self._content, self._gap, self._begun = 0, False, False
        return lines

    def _take(self, text: str) -> list[Line]:
        """A whole line outside of fences."""
        quotes, body = self._quoted(text)
        block = self._block
        if block and quotes != block.quotes and (quotes or not body.strip()):
            return [*self._close(), *self._take(text)]
        if not body.strip():
            lines = self._close()
            self._gap = True
            return lines
        if block and block.is_table and "|" in body:
            block.texts.append(body)
            return []
        if fence := _FENCE.fullmatch(body):
            return [*self._close(), *self._open(fence, quotes)]
        if heading := _HEADING.fullmatch(body):
            return [*self._close(), *self._heading(len(heading[1]), heading[2] or "", quotes)]
        ended = self._close() if block and block.is_table else []
        return [*ended, *self._written(body, quotes)]

    def _written(self, body: str, quotes: int) -> list[Line]:
        """A line that is a rule, a list's item, or text."""
        block = self._block
        if block and not block.first and (under := _UNDERLINE.fullmatch(body)):
            self._block = None
            return self._heading(1 if under[1][0] == "=" else 2, " ".join(block.texts), quotes)
        if _BREAK.fullmatch(body):
            rule = Line((("muted", "─" * min(40, self._columns())),), verbatim=True)
            return [*self._close(), *self._begin(), rule]
        item = _ITEM.fullmatch(body)
        if item and not (block and not block.first and item[2] not in ("-", "*", "+", "1.", "1)")):
            lines = self._close()
            self._item(item, quotes)
            return lines
        if block and is_rule(body, block.texts[-1]):
            head = block.texts.pop()
            lines = self._close() if block.texts else []
            self._block = _Block([head, body], quotes, is_table=True)
            return lines
        if block:
            block.texts.append(body.strip(" \t") + ("  " if body.endswith("  ") else ""))
            return []
        return self._begun_text(body, quotes)

    def _begun_text(self, body: str, quotes: int) -> list[Line]:
        """The first line of a paragraph, or one of code that is only indented."""
        indent = len(body) - len(body.lstrip())
        if indent < 2:
            self._content = 0
        if indent >= 4 and not self._content:
            return [*self._begin(), Line((*_quote(quotes), ("code", body[4:].expandtabs(4))), verbatim=True)]
        margin = " " * min(indent, self._content)
        self._block = _Block([body.lstrip()], quotes, margin, margin)
        return []

    def _item(self, item: re.Match[str], quotes: int) -> None:
        indent = min(len(item[1].expandtabs(4)), self._columns() // 3)
        mark = item[2] if item[2][0].isdigit() else _BULLETS[indent // 2 % len(_BULLETS)]
        box = {"[ ]": " ☐", None: ""}.get(item[3], " ☑")
        self._content = indent + len(item[2]) + 1
        first = f"{' ' * indent}{mark}{box} "
        self._block = _Block([item[4] or ""], quotes, first, " " * len(first))

    def _heading(self, level: int, text: str, quotes: int) -> list[Line]:
        self._content = 0
        role = "heading strong" if level < 3 else "heading"
        return [*self._begin(), Line((*_quote(quotes), *spans(text.strip(), role)), _quote(quotes))]

    def _close(self) -> list[Line]:
        """The lines of the open block, which ends here."""
        block, self._block = self._block, None
        if block is None:
            return []
        quote = _quote(block.quotes)
        if block.is_table:
            room = self._columns() - 2 * block.quotes
            shown = [Line((*quote, *row.fragments), verbatim=True) for row in table(block.texts, room)]
            return [*self._begin(), *shown]
        hang = (*quote, ("", block.margin)) if block.margin else quote
        lines: list[Line] = []
        row: list[Fragment] = [*quote, ("bullet", block.first)]
        for role, text in spans("\n".join(block.texts), "quote" if block.quotes else ""):
            first, *more = text.split("\n")
            row.append((role, first))
            for piece in more:
                lines.append(Line(joined(row), hang))
                row = [*hang, (role, piece)]
        return [*self._begin(), *lines, Line(joined(row), hang)]

    def _begin(self) -> list[Line]:
        """What comes between the block before and the one that begins."""
        gap, self._gap = self._gap and self._begun, False
        self._begun = True
        return [EMPTY] if gap else []

    def _open(self, fence: re.Match[str], quotes: int) -> list[Line]:
        margin = " " * min(len(fence[1].expandtabs(4)), self._columns() // 3)
        self._fence = _Fence(Code(fence[3]), fence[2], margin, quotes)
        label = f"─── {fence[3]}".rstrip()
        return [*self._begin(), Line((*_quote(quotes), ("muted", f"{margin}{label}")), verbatim=True)]

    def _coded(self, texts: list[str]) -> list[Line]:
        """Lines of code within the fence."""
        fence = self._fence
        if fence is None:
            return []
        bodies = [self._quoted(text)[1] if fence.quotes else text for text in texts]
        blank = len(fence.margin)
        bodies = [body[blank:] if not body[:blank].strip() else body.lstrip() for body in bodies]
        quote = _quote(fence.quotes)
        shown = fence.code.lines(bodies, fence.margin)
        return [Line((*quote, *code.fragments), verbatim=True) for code in shown] if quote else shown

    def _ends(self, text: str) -> bool:
        """Whether this line ends the fence, as its mark or as no part of the quote that the fence is in."""
        return self._is_mark(text) or (self._fence is not None and self._quoted(text)[0] < self._fence.quotes)

    def _is_mark(self, text: str) -> bool:
        fence = self._fence
        if fence is None:
            return False
        quotes, body = self._quoted(text) if fence.quotes else (0, text)
        mark = body.strip()
        return quotes == fence.quotes and mark.startswith(fence.end) and not mark.strip(fence.end[0])

    def _leave(self) -> list[Line]:
        fence, self._fence = self._fence, None
        margin = fence.margin if fence else ""
        return [Line((*_quote(fence.quotes if fence else 0), ("muted", f"{margin}───")), verbatim=True)]

    def _quoted(self, text: str) -> tuple[int, str]:
        """How deep in quotes a line is, and what is quoted."""
        match = _QUOTES.match(text)
        return (match[0].count(">"), text[match.end() :]) if match else (0, text)


def _quote(depth: int) -> tuple[Fragment, ...]:
    return (("muted", "│ " * depth),) if depth else ()
