"""``python -m tests.repo_map_quality FOLDER…``: how often the right file is among the first five.

FOLDER is a Python package, as it lies in site-packages. The right files are known without anybody's judgement:

- ``docstring``: the first sentence of a public class's or function's docstring, without the words of its name, asks for
  the file that defines it;
- ``bare``: the same, in a copy of the package without any docstring, so that the sentence itself is nowhere;
- ``commit``: the words of a test function's name ask for the modules that the test imports and uses by name, in a copy
  without tests.

Three rankings answer: this map; a plain count (files by how many of the question's words they hold, then by how often);
and the order of ``code_grep`` for any of the words, which is that of the paths.
"""

import ast
import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.repo_map import RepoMap
from marvin_server.workspace.workspace import Workspace

FIRST = 5
QUESTIONS = 80
_FILLERS = {
    *("the", "and", "for", "this", "that", "with", "from", "which", "are", "was", "has", "have", "not", "its", "into"),
    *("can", "may", "when", "where", "whether", "used", "use", "using", "all", "any", "each", "one", "two", "will"),
    *("should", "test", "tests"),
}


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    right: frozenset[str]


def main(folders: Sequence[str]) -> None:
    print("| package | files | question | map | count | grep | ms |\n|---|---|---|---|---|---|---|")
    for folder in map(Path, folders):
        sources = {file.relative_to(folder).as_posix(): file.read_text("utf-8", "replace") for file in _sources(folder)}
        library = {path: text for path, text in sources.items() if not _is_test(path)}
        bare = {path: _without_docstrings(text) for path, text in library.items()}
        docstrings = _sample(_docstrings(library))
        for kind, texts, questions in (
            ("docstring", library, docstrings),
            ("bare", bare, docstrings),
            ("commit", library, _sample(_commits(folder.name, sources))),
        ):
            if questions:
                shares, took = asyncio.run(_compare(texts, questions))
                shown = " | ".join(f"{share:.0%}" for share in shares)
                print(
                    f"| {folder.name} | {len(texts)} | {kind} ({len(questions)}) | {shown} | {took * 1000:.0f} |",
                    flush=True,
                )


async def _compare(texts: Mapping[str, str], questions: Sequence[Question]) -> tuple[list[float], float]:
    """The share of the questions that each ranking answers, and the mean time of the map's answers in seconds."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "repository"
        for path, text in texts.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        repo_map = RepoMap(Workspace(Root(root)), Path(place) / "cache")
        await repo_map.ranked("")
        lowered = {path: text.lower() for path, text in sorted(texts.items())}
        right = [0, 0, 0]
        took = 0.0
        for question in questions:
            before = time.process_time()
            by_map = [one.path for one in (await repo_map.ranked(question.text))[:FIRST]]
            took += time.process_time() - before
            words = set(re.findall(r"[a-z]{3,}", question.text.lower())) - _FILLERS
            for number, answer in enumerate((by_map, _counted(lowered, words), _grepped(lowered, words))):
                right[number] += bool(question.right & set(answer))
        return [number / len(questions) for number in right], took / len(questions)


def _counted(texts: Mapping[str, str], words: set[str]) -> list[str]:
    scores: dict[str, tuple[int, int]] = {}
    for path, text in texts.items():
        counts = [text.count(word) for word in words]
        scores[path] = (sum(map(bool, counts)), sum(counts))
    return sorted(scores, key=lambda path: scores[path], reverse=True)[:FIRST]


def _grepped(texts: Mapping[str, str], words: set[str]) -> list[str]:
    return [path for path, text in texts.items() if any(word in text for word in words)][:FIRST]


def _sources(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*.py")):
        if file.stat().st_size < 500_000:
            yield file


def _is_test(path: str) -> bool:
    return bool(re.search(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|conftest)\.py$|_test\.py$", path))


def _sample(questions: Sequence[Question]) -> list[Question]:
    return random.Random(9).sample(questions, min(QUESTIONS, len(questions)))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _docstrings(texts: Mapping[str, str]) -> list[Question]:
    found: dict[str, set[str]] = {}
    for path, text in texts.items():
        tree = _parsed(text)
        for node in tree.body if tree else ():
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
                continue
            sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", (ast.get_docstring(node) or "").strip())[0]
            name = {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", node.name)}
            words = [
                word
                for word in re.findall(r"[A-Za-z_]+", sentence)
                if not name & set(re.findall(r"[a-z]+", word.lower()))
            ]
            if len([word for word in words if len(word) > 2 and word.lower() not in _FILLERS]) >= 4:
                found.setdefault(" ".join(words), set()).add(path)
    return [Question(text, frozenset(right)) for text, right in found.items() if len(right) == 1]


def _without_docstrings(text: str) -> str:
    tree = _parsed(text)
    if tree is None:
        return text
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            inner = node.body[0]
            for number in range(inner.lineno - 1, inner.end_lineno or inner.lineno):
                lines[number] = ""
            lines[inner.lineno - 1] = " " * inner.col_offset + "'.'"
    return "\n".join(lines)


def _commits(package: str, sources: Mapping[str, str]) -> list[Question]:
    questions: list[Question] = []
    for path, text in sources.items():
        tree = _parsed(text) if _is_test(path) else None
        if tree is None:
            continue
        origins: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith(f"{package}."):
                stem = "/".join((node.module or "").split(".")[1:])
                for module in (f"{stem}.py", f"{stem}/__init__.py"):
                    if module in sources and not _is_test(module) and not module.endswith("__init__.py"):
                        origins |= {alias.asname or alias.name: module for alias in node.names}
        for node in tree.body:
            for function in [node, *(node.body if isinstance(node, ast.ClassDef) else ())]:
                if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                    used = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
                    right = frozenset(origins[name] for name in used & origins.keys())
                    words = function.name.split("_")[1:]
                    if 1 <= len(right) <= 3 and len(words) >= 3:
                        questions.append(Question(" ".join(words), right))
    return questions


if __name__ == "__main__":
    main(sys.argv[1:])
