"""The definitions in one file: by its language's grammar where that is installed (``marvin-assistant[map]``), else by
its lines. Only files that are shown are read this way."""

import importlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.workspace.names import printable
from marvin_server.workspace.repo_map.languages import Language, language_of
from marvin_server.workspace.repo_map.scan import definitions

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

_WIDEST = 140  # characters
_DEEPEST = 6
_SIGNATURE = 12  # lines
_OPEN, _CLOSED = "([", ")]"


class Definition(Struct, frozen=True):
    """A definition: its line, counted from 0, how many definitions it is in, and its beginning as one line."""

    line: int
    depth: int
    name: str
    text: str


@lru_cache(128)
def outline(path: str, text: str) -> tuple[Definition, ...]:
    """The definitions in ``text``, in their order. Nothing that is in the text can make it fail or take long."""
    language = language_of(path)
    if language is None:
        return ()
    lines = text.split("\n")
    found: list[Definition] = []
    widths: list[int] = []
    for line, name in sorted(set(_by_tree(language, text) or _by_lines(language, text, lines))):
        if found and found[-1].line == line:
            continue
        width = len(lines[line]) - len(lines[line].lstrip())
        while widths and widths[-1] >= width:
            widths.pop()
        found.append(Definition(line, min(len(widths), _DEEPEST), name, _beginning(lines, line)))
        widths.append(width)
    return tuple(found)


def _by_lines(language: Language, text: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return ((bisect_right(starts, place) - 1, name) for place, name in definitions(language, text))


def _by_tree(language: Language, text: str) -> list[tuple[int, str]]:
    """The lines and names of what the grammar's own tag query calls definitions; nothing without a grammar."""
    if language.grammar is None or (grammar := _grammar(language)) is None:
        return []
    from tree_sitter import QueryCursor

    parser, query = grammar
    found: list[tuple[int, str]] = []
    for _, captures in QueryCursor(query).matches(parser.parse(text.encode("utf-8", "replace")).root_node):
        if "name" in captures and any(capture.startswith("definition.") for capture in captures):
            node: Node = captures["name"][0]
            found.append((node.start_point.row, (node.text or b"").decode("utf-8", "replace")))
    return found


@cache
def _grammar(language: Language) -> "tuple[Parser, Query] | None":
    assert language.grammar is not None
    module, function = language.grammar
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser, Query

        pointer: Callable[[], object] = getattr(importlib.import_module(module), function)
        grammar = Grammar(pointer())
        tags = "\n".join(importlib.import_module(name).TAGS_QUERY for name in language.queries)
        return Parser(grammar), Query(grammar, tags)
    except ImportError:
        return None
    except (AttributeError, ValueError, RuntimeError) as error:
        logging.getLogger("marvin.workspace").warning("the grammar %s is not used: %s", module, error)
        return None


def _beginning(lines: list[str], number: int) -> str:
    """The line ``number``, and those that follow until its brackets are closed, as one line of bounded width."""
    parts: list[str] = []
    open_brackets = 0
    for line in lines[number : number + _SIGNATURE]:
        part = line.strip()[: 2 * _WIDEST]
        parts.append(part)
        open_brackets += sum(map(part.count, _OPEN)) - sum(map(part.count, _CLOSED))
        if open_brackets <= 0 or sum(map(len, parts)) > _WIDEST:
            break
    joined = " ".join(parts).replace("( ", "(").replace(" )", ")").replace(",)", ")").rstrip("{: ")
    return printable(joined if len(joined) <= _WIDEST else f"{joined[: _WIDEST - 1]}…")
