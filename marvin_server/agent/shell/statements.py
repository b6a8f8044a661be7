"""Reads simple commands out of a parsed bash text: the grammar says where statements are, tokens what they say."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_server.agent.shell.subcommands import Redirect, Subcommand
from marvin_server.agent.shell.words import CLOSES, REDIRECTS, Token, Unreadable, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.DOTALL)
# Lower-case names without '_' hold nothing that another program reads.
_LOOP_VARIABLE = re.compile(r"[a-z][a-z0-9]*")
_ARITHMETIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "=~"})
RESERVED = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "while", "until", "do", "done", "select"),
        *("function", "in", "coproc", "{", "}", "!", "[[", "]]"),
    }
)
SIMPLE = frozenset(
    {"command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments", "test_command"}
)
COMPOUND = frozenset(
    {
        *("program", "pipeline", "list", "negated_command", "subshell", "compound_statement", "if_statement"),
        *("elif_clause", "else_clause", "while_statement", "do_group", "redirected_statement", "function_definition"),
        *("for_statement", "case_statement", "case_item", "command_substitution", "process_substitution"),
    }
)
_STATEMENTS = SIMPLE | COMPOUND
# These hold what stands between them and the one before.
_SEPARATED = frozenset({"case_item", "elif_clause", "else_clause"})
_NO_STATEMENTS = frozenset({"file_redirect", "herestring_redirect", "variable_name"})


class Statements:
    """Reads the statements of one region of ``text`` by its tokens, ``found``.

    ``heredocs`` are the places where here-documents were; those that are met as redirects are taken out of it. What is
    read is added to ``subcommands``. Raises Unreadable.
    """

    def __init__(self, text: str, found: Sequence[Token], heredocs: set[int], subcommands: list[Subcommand]) -> None:
        self._source = text
        self._found = found
        self._heredocs = heredocs
        self._subcommands = subcommands

    def all(self, nodes: Sequence["Node"]) -> None:
        """Read each of ``nodes``; something must stand between two statements."""
        before: Node | None = None
        for node in nodes:
            if node.type == "comment":
                continue
            if before is not None and before.type in _STATEMENTS and node.type in _STATEMENTS - _SEPARATED:
                between = within(self._found, before.end_byte, node.start_byte)
                if not any(token.kind in {"newline", "operator"} for token in between):
                    raise Unreadable("has two commands with nothing between them")
            self._one(node)
            before = node

    def _one(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        if node.type in SIMPLE or (node.type == "redirected_statement" and (not body or body.type in SIMPLE)):
            self._simple(node)
        elif node.type in COMPOUND:
            self._compound(node)
        elif node.type == "file_redirect":
            self._trailing_redirects(node.start_byte, node.end_byte)
        else:
            raise Unreadable(f"has a part that is not understood: {node.type}")

    def _compound(self, node: "Node") -> None:
        named = [child for child in node.children if child.is_named]
        values: list[Node] = []
        if node.type == "redirected_statement":
            self._redirected(node, named[0])
        elif node.type == "function_definition":
            if not re.fullmatch(r"[\w.:-]+", self._text(named[0].start_byte, named[0].end_byte)):
                raise Unreadable("has a function with a strange name")
            named = named[1:]
            if len(named) > 1:
                self._trailing_redirects(named[0].end_byte, node.end_byte)
        elif node.type == "for_statement":
            variable = self._text(named[0].start_byte, named[0].end_byte)
            if not _LOOP_VARIABLE.fullmatch(variable):
                raise Unreadable(f"sets the variable {variable}")
            values = node.children_by_field_name("value")
        elif node.type in {"case_statement", "case_item"}:
            values = node.children_by_field_name("value")
            if node.type == "case_item" and any(not self._is_plain_pattern(value) for value in values):
                raise Unreadable("has a case pattern that is not understood")
        for value in values:
            if any(token.kind != "word" for token in within(self._found, value.start_byte, value.end_byte)):
                raise Unreadable("has a list that is not understood")
        apart = {value.id for value in values}
        self.all([child for child in named if child.id not in apart and child.type not in _NO_STATEMENTS])

    def _is_plain_pattern(self, node: "Node") -> bool:
        text = self._text(node.start_byte, node.end_byte)
        return bool(re.fullmatch(r"[\w*?.,/:@%=+~-]+|'[^']*'|\"[^\"$`\\]*\"", text))

    def _redirected(self, node: "Node", body: "Node") -> None:
        if body.start_byte != node.start_byte:
            raise Unreadable("has a redirect before a compound command")
        self._trailing_redirects(body.end_byte, node.end_byte)

    def _trailing_redirects(self, start: int, end: int) -> None:
        words, redirects = self._taken_apart(start, end)
        if words:
            raise Unreadable("has words after a compound command")
        self._subcommands.append(Subcommand((), self._text(start, end).strip(), redirects))

    def _simple(self, node: "Node") -> None:
        words, redirects = self._taken_apart(node.start_byte, node.end_byte, doubled=self._is_doubled(node))
        count = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word.text)), len(words))
        assignments, words = words[:count], words[count:]
        if words and words[0].text in RESERVED and not self._is_doubled(node):
            raise Unreadable(f"has '{words[0].text}' where it is not understood")
        text = self._text(node.start_byte, node.end_byte)
        self._subcommands.append(Subcommand(words, text, redirects, assignments))

    def _is_doubled(self, node: "Node") -> bool:
        """Whether this is ``[[ … ]]``, in which ``&&``, ``<`` and parentheses mean something else."""
        return self._source.startswith("[[", node.start_byte) and (
            node.type == "test_command" or node.children[0].type == "test_command"
        )

    def _taken_apart(
        self, start: int, end: int, *, doubled: bool = False
    ) -> tuple[tuple[Word, ...], tuple[Redirect, ...]]:
        """The words and the redirects of a simple command."""
        words: list[Word] = []
        redirects: list[Redirect] = []
        found = [token for token in within(self._found, start, end) if token.kind != "comment"]
        pending = iter(range(len(found)))
        for index in pending:
            token, following = found[index], found[index + 1] if index + 1 < len(found) else None
            if doubled and token.kind == "operator" and token.text not in {"]]", ";", "&", "|"}:
                continue
            if token.word is not None:
                if doubled and token.text in _ARITHMETIC:
                    raise Unreadable(f"uses {token.text} in [[ … ]], which may run what its words hold")
                if doubled and token.text == "]]":
                    words.append(token.word)
                    doubled = False
                elif not (following and _is_descriptor_of(token, following)):
                    words.append(token.word)
            elif token.text in CLOSES:
                continue
            elif token.text in REDIRECTS and following is not None and following.word is not None:
                redirects.append(Redirect(self._operator(token), following.word))
                next(pending)
            else:
                raise Unreadable(f"has '{token.text.strip() or 'a line end'}' where it is not understood")
        return tuple(words), tuple(redirects)

    def _operator(self, token: Token) -> str:
        """The operator of a redirect; that of a here-document, which is no longer there, counts as a here-string's."""
        if token.start not in self._heredocs:
            return token.text
        self._heredocs.remove(token.start)
        return "<<<"

    def _text(self, start: int, end: int) -> str:
        return self._source[start:end].encode("latin-1").decode(errors="replace")


def _is_descriptor_of(token: Token, operator: Token) -> bool:
    """Whether ``token`` is the number before a redirect. ``{name}`` in its place is refused: it sets a variable."""
    if operator.start != token.end or (operator.text not in REDIRECTS | CLOSES) or operator.text.startswith("&"):
        return False
    if re.fullmatch(r"\{\w+\}", token.text):
        raise Unreadable("sets a variable to a descriptor")
    return token.text.isdigit()


def within(found: Sequence[Token], start: int, end: int) -> Sequence[Token]:
    first = bisect_left(found, start, key=lambda token: token.start)
    return found[first : bisect_left(found, end, key=lambda token: token.start)]
