"""Reads pieces of bash text as bash's own lexer does: where words, operators, comments and line ends are, and what
a word says once its quotes are gone. Rules: the Bash manual, sections 3.1.1 to 3.1.2 and 3.5.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

_OPERATOR = re.compile(
    r"&>>|&>|&&|&|;;&|;;|;&|;|\|\||\|&|\||<<<|<<-|<<|<&-(?![^\s|&;()<>])|<&|<>|<|"
    r">&-(?![^\s|&;()<>])|>&|>>|>\||>|\(|\)"
)
_COMMENT = re.compile(r"#[^\n]*")
_ENDS_WORD = frozenset(" \t\n|&;()<>")
_STARTS_EXPANSION = re.compile(r"""\$[A-Za-z0-9_{(\['"@*#?$!-]""")
_ESCAPE = re.compile(
    r"""\\(?:([abeEfnrtv\\'"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8}))"""
)
_SIMPLE_ESCAPES = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
REDIRECTS = frozenset({"<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<<"})
CLOSES = frozenset({"<&-", ">&-"})


class Unreadable(Exception):
    """The text is not read with certainty; the message, which follows "it …", says why."""


class Word(Struct, frozen=True):
    """One word of a command. ``value`` is what the program gets, None when only bash can tell: it holds an expansion,
    a glob, braces or a tilde. ``known`` is what certainly comes before those (all of a static word)."""

    text: str
    value: str | None
    known: str


class Token(Struct, frozen=True):
    """A piece of the text from ``start`` to ``end``. ``word`` is None for all but words."""

    start: int
    end: int
    kind: Literal["word", "operator", "newline", "comment"]
    text: str
    word: Word | None = None


def tokens(text: str, start: int, end: int, spans: Mapping[int, int]) -> list[Token]:
    """The tokens of ``text`` from ``start`` to ``end``, line ends and comments among them.

    ``text`` holds one character for each byte of the UTF-8 (as Latin-1 decodes it). ``spans`` says, for each outermost
    expansion that begins there, where it ends. Raises Unreadable for what bash might read in another way.
    """
    found: list[Token] = []
    at = start
    while at < end:
        char = text[at]
        if char in " \t":
            at += 1
        elif char == "\n":
            found.append(Token(at, at + 1, "newline", char))
            at += 1
        elif text.startswith("\\\n", at):
            if at > start and text[at - 1] not in " \t\n":
                raise Unreadable("joins two lines in the middle of a word")
            at += 2
        elif char == "#" and (match := _COMMENT.match(text, at, end)):
            found.append(Token(at, match.end(), "comment", match[0]))
            at = match.end()
        elif at not in spans and (match := _OPERATOR.match(text, at, end)):
            found.append(Token(at, match.end(), "operator", match[0]))
            at = match.end()
        else:
            reader = _Reader(text, at, end, spans)
            word = reader.word()
            found.append(Token(at, reader.at, "word", text[at : reader.at], word))
            at = reader.at
    return found


class _Reader:
    """Reads one word from ``at`` on."""

    def __init__(self, text: str, at: int, end: int, spans: Mapping[int, int]) -> None:
        self.at = at
        self._text, self._start, self._end, self._spans = text, at, end, spans
        self._value: list[str] = []
        self._known: str | None = None

    def word(self) -> Word:
        if self._text[self.at] == "~":
            self._expands()
        while self.at < self._end and (self.at in self._spans or self._text[self.at] not in _ENDS_WORD):
            self._unquoted()
        value = _decoded("".join(self._value))
        text = _decoded(self._text[self._start : self.at])
        if text in {"[", "[["}:
            return Word(text, text, text)
        return Word(text, value, value) if self._known is None else Word(text, None, _decoded(self._known))

    def _expands(self) -> None:
        """From here on only bash knows what the word says."""
        if self._known is None:
            self._known = "".join(self._value)

    def _unquoted(self) -> None:
        char = self._text[self.at]
        if self.at in self._spans:
            self._expansion()
        elif char == "\\":
            if self.at + 1 >= self._end or self._text[self.at + 1] == "\n":
                raise Unreadable("joins two lines in the middle of a word")
            self._value.append(self._text[self.at + 1])
            self.at += 2
        elif char == "'":
            self._value.append(self._until("'", self.at + 1))
        elif char == '"':
            self._double_quoted()
        elif self._text.startswith("$'", self.at):
            self._ansi_quoted()
        else:
            self._plain(char)

    def _plain(self, char: str) -> None:
        self._no_expansion(char)
        braces = char == "{" and not self._text.startswith("{}", self.at) and self.at > self._start
        tilde = char == "~" and self._text[self.at - 1] in ":="
        if char in "*?[" or braces or tilde or (char == "{" and self._has_more()):
            self._expands()
        self._value.append(char)
        self.at += 1

    def _has_more(self) -> bool:
        """Whether a brace that begins the word has more than a brace's end, or a word's end, after it."""
        following = self._text[self.at + 1 : min(self.at + 2, self._end)]
        return following not in _ENDS_WORD and following not in {"", "}"}

    def _no_expansion(self, char: str) -> None:
        """Raise for an expansion where the tree saw none."""
        if char == "`":
            raise Unreadable("holds a backtick; write $(…)")
        if char == "$" and _STARTS_EXPANSION.match(self._text, self.at, self._end):
            raise Unreadable(f"holds an expansion that is not understood: {self._text[self.at : self.at + 20]}")

    def _expansion(self) -> None:
        self._expands()
        self.at = self._spans[self.at]
        if self.at > self._end:
            raise Unreadable("holds an expansion that does not end with its word")

    def _double_quoted(self) -> None:
        self.at += 1
        while self.at < self._end and (char := self._text[self.at]) != '"':
            if self.at in self._spans:
                self._expansion()
            elif char == "\\" and self._text[self.at + 1 : self.at + 2] in {"$", "`", '"', "\\", "\n"}:
                self._value.append(self._text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif char == "$" and self._text[self.at + 1 : self.at + 2] in {"'", '"'}:
                self._value.append(char)
                self.at += 1
            else:
                self._no_expansion(char)
                self._value.append(char)
                self.at += 1
        if self.at >= self._end:
            raise Unreadable("has a quote without its end")
        self.at += 1

    def _ansi_quoted(self) -> None:
        self.at += 2
        while self.at < self._end and (char := self._text[self.at]) != "'":
            if char != "\\":
                self._value.append(char)
                self.at += 1
            elif (match := _ESCAPE.match(self._text, self.at, self._end)) and (value := _unescaped(match)):
                self._value.append(value)
                self.at = match.end()
            else:
                raise Unreadable("holds an escape in $'…' that is not understood")
        if self.at >= self._end:
            raise Unreadable("has a quote without its end")
        self.at += 1

    def _until(self, quote: str, begin: int) -> str:
        close = self._text.find(quote, begin, self._end)
        if close < 0:
            raise Unreadable("has a quote without its end")
        self.at = close + 1
        return self._text[begin:close]


def _unescaped(match: re.Match[str]) -> str:
    """What an escape of ``$'…'`` stands for, as UTF-8 bytes; empty for what is no character or only part of one."""
    simple, octal, byte, short, long = match.groups()
    if simple:
        return _SIMPLE_ESCAPES[simple]
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF or (code > 0x7F and (octal or byte)):
        return ""
    return chr(code).encode().decode("latin-1")


def _decoded(raw: str) -> str:
    return raw.encode("latin-1").decode(errors="replace")
