"""How definitions look in the languages that are known: by their lines, and which grammar reads them in full.

A line pattern is careful rather than clever: it meets every line of every file, so it must take time in proportion to
the line, and what it misses costs no more than a name.
"""

import re
from functools import cache
from posixpath import splitext

from msgspec import Struct

_NAME = r"([^\W\d]\w{0,79})"
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|override|virtual|async|open|data|"
    r"inline|suspend|export|default|declare|unsafe|extern|const|pub|pub\(\w{1,20}\))[ \t]+){0,6}"
)
_TYPES = (
    rf"{_MODIFIERS}(?:class|interface|enum|enum class|struct|trait|record|object|protocol|extension|namespace|union)"
    rf"[ \t]+{_NAME}"
)
_TEXT = frozenset(
    {
        *("adoc", "md", "org", "rst", "txt"),
        *("css", "html", "less", "scss", "vue"),
        *("bat", "bzl", "cfg", "cmake", "conf", "gradle", "ini", "mk", "nix", "proto", "sql", "toml", "yaml", "yml"),
    }
)


class Language(Struct, frozen=True):
    """``definition`` matches a line break and the beginning of a line that defines the group that took part.

    ``grammar`` is the module of the tree-sitter grammar and its function, and ``queries`` are the modules whose tag
    queries hold for it: for languages whose lines say too little. In Go, Java, Python and Rust lines find 99 % of what
    the grammars do.
    """

    definition: re.Pattern[str]
    grammar: tuple[str, str] | None = None
    queries: tuple[str, ...] = ()


def language_of(path: str) -> Language | None:
    """The language of the file ``path``, by the end of its name; None for what is no code, or not known."""
    return _languages().get(_suffix(path))


def is_text(path: str) -> bool:
    """Whether the name of a file says that people write it: code, prose or configuration, or no ending at all."""
    suffix = _suffix(path)
    return not suffix or suffix in _TEXT or suffix in _languages()


def _suffix(path: str) -> str:
    return splitext(path)[1][1:].lower()


def _lines(first: str, *patterns: str) -> re.Pattern[str]:
    """A pattern for lines that begin, after white space, with one of ``patterns``, each of which has one group: the
    name. ``first`` is a set of the characters that they begin with: most lines are passed over for it at once."""
    return re.compile(rf"\n[ \t]{{0,40}}(?=[{first}])(?:{'|'.join(patterns)})")


@cache
def _languages() -> dict[str, Language]:
    python = _lines(
        "adcA-Z", rf"(?:async[ \t]+)?def[ \t]+{_NAME}", rf"class[ \t]+{_NAME}", r"([A-Z][A-Z0-9_]{2,60})[ \t]*="
    )
    function = r"(?:async[ \t]*)?(?:function\b|\([^()\n]{0,200}\)[^=\n]{0,60}=>|\w{1,60}[ \t]*=>)"
    script = _lines(
        r"\w$",
        _TYPES,
        rf"{_MODIFIERS}function[ \t*]{{1,4}}{_NAME}",
        rf"{_MODIFIERS}type[ \t]+{_NAME}",
        rf"{_MODIFIERS}(?:(?:let|var|readonly)[ \t]+)?{_NAME}[ \t]*=[ \t]*{function}",
        rf"{_MODIFIERS}(?!(?:if|for|while|switch|catch|return|function|else|do)\b){_NAME}"
        r"\([^()\n]{0,200}\)[^={()\n]{0,80}\{[ \t]*(?=\n)",
    )
    c_like = _lines(
        r"\w#}",
        _TYPES,
        rf"#define[ \t]+{_NAME}",
        # A type, a name and an open bracket, in a line that is no statement.
        rf"{_MODIFIERS}(?!(?:return|else|new|throw|case|goto|delete|await|yield|typedef|using|if|for|while|switch)\b)"
        rf"(?:[\w:<>,.?\[\]]{{1,80}}[ \t*&]{{1,4}}){{1,3}}(?:\w{{1,60}}::)?{_NAME}\([^;\n]{{0,200}}(?=\n)",
        rf"typedef[ \t][^;\n]{{1,120}}[ \t*]{_NAME};",
        # What GNU's style has at the beginning of a line: the name of a function, and that of a type at its end.
        rf"(?<=\n){_NAME}[ \t]?\([^;\n]{{0,200}}(?=\n)",
        rf"(?<=\n)\}}[ \t]*{_NAME};",
    )
    rust = _lines(r"\w", rf"{_MODIFIERS}(?:fn|struct|enum|trait|type|mod|union|static|macro_rules!)[ \t]+{_NAME}")
    go = _lines("ft", rf"func[ \t]+(?:\([^()\n]{{0,80}}\)[ \t]*)?{_NAME}", rf"type[ \t]+{_NAME}")
    ruby = _lines("dcm", rf"def[ \t]+(?:self\.)?{_NAME}", rf"(?:class|module)[ \t]+(?:\w{{1,60}}::){{0,5}}{_NAME}")
    php = _lines(r"\w", _TYPES, rf"{_MODIFIERS}function[ \t]+&?{_NAME}")
    newer = _lines(r"\w", _TYPES, rf"{_MODIFIERS}(?:func|fun|def|val|var|let|type)[ \t]+{_NAME}")
    lua = _lines(
        r"\w",
        rf"(?:local[ \t]+)?function[ \t]+(?:\w{{1,60}}[.:]){{0,5}}{_NAME}",
        rf"(?:local[ \t]+)?(?:\w{{1,60}}\.){{0,5}}{_NAME}[ \t]*=[ \t]*function\b",
    )
    lisp = _lines(r"(", r"\((?:cl-)?def[a-z-]{0,20}[ \t]+\(?'?([^\s()']{3,80})")
    shell = _lines(r"\w", rf"function[ \t]+{_NAME}", rf"{_NAME}[ \t]?\(\)")
    elixir = _lines("d", rf"(?:defmodule|defp?|defmacrop?|defprotocol)[ \t]+(?:\w{{1,60}}\.){{0,8}}{_NAME}")

    def parsed(definition: re.Pattern[str], module: str, function: str = "language", *more: str) -> Language:
        return Language(definition, (module, function), (*more, module))

    javascript, typescript = "tree_sitter_javascript", "tree_sitter_typescript"
    known = {
        "py pyi pyx pxd": Language(python),
        "js jsx mjs cjs": parsed(script, javascript),
        "ts mts cts": parsed(script, typescript, "language_typescript", javascript),
        "tsx": parsed(script, typescript, "language_tsx", javascript),
        "c h": parsed(c_like, "tree_sitter_c"),
        "cc cpp cxx hpp hh hxx": parsed(c_like, "tree_sitter_cpp"),
        "java cs m mm cu dart": Language(c_like),
        "go": Language(go),
        "rs": Language(rust),
        "rb": Language(ruby),
        "php": parsed(php, "tree_sitter_php", "language_php"),
        "kt kts swift scala sc": Language(newer),
        "lua": Language(lua),
        "el lisp clj cljs scm": Language(lisp),
        "sh bash zsh": Language(shell),
        "ex exs": Language(elixir),
    }
    return {suffix: language for suffixes, language in known.items() for suffix in suffixes.split()}
