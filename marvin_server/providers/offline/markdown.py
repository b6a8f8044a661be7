"""Markdown that quotes other text verbatim."""

import re

_LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "clj": "clojure", "cpp": "cpp", "cs": "csharp", "css": "css", "el": "elisp",
    "ex": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell", "html": "html", "java": "java",
    "js": "javascript", "json": "json", "jsx": "jsx", "kt": "kotlin", "lua": "lua", "md": "markdown", "ml": "ocaml",
    "php": "php", "pl": "perl", "py": "python", "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "rst": "rst",
    "scala": "scala", "sh": "bash", "sql": "sql", "swift": "swift", "tf": "hcl", "toml": "toml", "ts": "typescript",
    "tsx": "tsx", "vim": "vim", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig",
}  # fmt: skip
_NAMES = {"makefile": "make", "dockerfile": "dockerfile", "gnumakefile": "make"}


def language(path: str) -> str:
    """The info string of a fence that quotes the file ``path``; empty when its kind is unknown."""
    name = path.rsplit("/", 1)[-1].lower()
    return _NAMES.get(name) or _LANGUAGES.get(name.rpartition(".")[2], "")


def fence(text: str, info: str = "") -> str:
    """``text`` verbatim in a code fence that is longer than any run of backticks inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    body = text.removesuffix("\n")
    return f"{marks}{info}\n{body}\n{marks}"


def code(text: str) -> str:
    """``text`` as inline code on one line, whatever backticks it holds."""
    line = " ".join(text.split("\n"))
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    marks = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{space}{line}{space}{marks}"
