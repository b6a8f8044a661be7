"""Every simple command that a bash text would run, by two readers that must agree: tree-sitter's grammar says how the
text is built, ``words`` says where its words and operators are. What either does not know for certain is a problem.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from marvin_server.agent.shell.heredocs import without_heredocs
from marvin_server.agent.shell.statements import COMPOUND, Statements, within
from marvin_server.agent.shell.subcommands import Parsed, Subcommand
from marvin_server.agent.shell.words import Token, Unreadable, tokens

if TYPE_CHECKING:
    from tree_sitter import Language, Node

LONGEST = 10_000
_DEEPEST = 40
_STRANGE = re.compile(r"[^\S \n\t]|[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_LITERAL = r"[\w ./:*?@%+,=~^-]*"
_PARAMETER = re.compile(
    r"\$(?:[A-Za-z_]\w*|[0-9?@*#$!-])|"
    r"\$\{(?:#?(?:[A-Za-z_]\w*|[0-9@*?]+)(?:\[[@*]\])?|"
    rf"(?:[A-Za-z_]\w*|[0-9]+)(?:(?::?[-+?]|##?|%%?|\^\^?|,,?){_LITERAL}|//?{_LITERAL}(?:/{_LITERAL})?|:\d+(?::\d+)?))\}}"
)
_NUMBERS = re.compile(r"\$\(\([0-9+*/%()<>=!&|^~?: \t-]*\)\)")
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_EXPANSIONS = _SUBSTITUTIONS | {"expansion", "simple_expansion", "arithmetic_expansion"}


def read(text: str) -> Parsed:
    """The simple commands in ``text``, which bash is to read, as they stand there. Never raises. Texts may be read in
    several threads at once."""
    from tree_sitter import Parser

    if len(text) > LONGEST:
        return Parsed((), f"is longer than {LONGEST:,} characters")
    if match := _STRANGE.search(text):
        return Parsed((), f"holds the invisible or control character U+{ord(match[0]):04X}")
    try:
        raw = text.encode().decode("latin-1")
    except UnicodeEncodeError:
        return Parsed((), "holds half a character")
    reading = _Reading()
    try:
        without = without_heredocs(raw)
        root = Parser(_language()).parse(without.text.encode("latin-1")).root_node
        reading.text, reading.heredocs = without.text, set(without.places)
        if root.has_error:
            reading.problem = "is not understood as bash"
        reading.region(root, 0, len(without.text))
        if reading.heredocs:
            raise Unreadable("has a here-document in an unexpected place")
    except Unreadable as unreadable:
        reading.problem = reading.problem or str(unreadable)
    return Parsed(tuple(reading.subcommands), reading.problem)


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


class _Reading:
    """What has been read of one text (a character for each byte)."""

    def __init__(self) -> None:
        self.text = ""
        self.subcommands: list[Subcommand] = []
        self.problem: str | None = None
        self.heredocs: set[int] = set()
        self._depth = 0

    def region(self, node: "Node", start: int, end: int) -> None:
        """Read what a whole text, or a substitution, runs: from ``start`` to ``end`` in ``node``."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("is nested too deeply")
        outermost = list(_outermost(node.children))
        spans = {child.start_byte: child.end_byte for child in outermost}
        found = tokens(self.text, start, end, spans)
        inside = [child for child in node.children if child.start_byte >= start and child.end_byte <= end]
        atoms = [span for child in inside for span in self._atoms(child, found, 0)]
        if atoms != [(token.start, token.end) for token in found if token.kind != "newline"]:
            self._problem("is not understood with certainty")
        for child in outermost:
            self._expansion(child)
        statements = Statements(self.text, found, self.heredocs, self.subcommands)
        statements.all([child for child in inside if child.is_named])
        self._depth -= 1

    def _problem(self, problem: str) -> None:
        self.problem = self.problem or problem

    def _expansion(self, node: "Node") -> None:
        text = self.text[node.start_byte : node.end_byte]
        if node.type in _SUBSTITUTIONS:
            if text[:2] not in {"$(", "<(", ">("} or text[-1] != ")":
                raise Unreadable("holds a backtick; write $(…)")
            self.region(node, node.start_byte + 2, node.end_byte - 1)
        elif not (_NUMBERS if node.type == "arithmetic_expansion" else _PARAMETER).fullmatch(text):
            # Bash runs substitutions in subscripts and arithmetic, also those in the values of variables.
            self._problem(f"holds an expansion that may run or change something: {text[:40]}")
            for child in _outermost(node.children):
                self._expansion(child)

    def _atoms(self, node: "Node", found: Sequence[Token], depth: int) -> Iterator[tuple[int, int]]:
        """Where the tree has words, operators and comments, in order."""
        if depth > 4 * _DEEPEST:
            raise Unreadable("is nested too deeply")
        if node.type in {"test_command", "declaration_command", "unset_command"} or "assignment" in node.type:
            # The tree has a grammar of its own in these; they are read by their tokens alone.
            yield from ((t.start, t.end) for t in within(found, node.start_byte, node.end_byte) if t.kind != "newline")
        elif node.type in _EXPANSIONS or not (node.type in COMPOUND or _is_structure(node)):
            if node.start_byte < node.end_byte and not self.text[node.start_byte : node.end_byte].isspace():
                yield node.start_byte, node.end_byte
        else:
            for child in node.children:
                yield from self._atoms(child, found, depth + 1)


def _is_structure(node: "Node") -> bool:
    return node.type in {"command", "command_name", "file_redirect", "herestring_redirect"} and not (
        node.type == "command_name" and not node.children
    )


def _outermost(nodes: Sequence["Node"]) -> Iterator["Node"]:
    """The expansions among ``nodes`` and beneath them that lie in no other."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if node.type in _EXPANSIONS:
            yield node
        else:
            pending += reversed(node.children)
