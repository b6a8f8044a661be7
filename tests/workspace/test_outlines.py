"""What is shown of single files: by grammars where they are worth it, by lines everywhere."""

import subprocess
import sys

import pytest

from marvin_server.workspace.repo_map.outline import outline

C = "struct boat { int oars; };\n\nint paddle(int strokes,\n           int boats)\n{\n}\nint sink(void);\n"


def shown(path: str, text: str) -> list[tuple[int, int, str]]:
    return [(one.line + 1, one.depth, one.text) for one in outline(path, text)]


def test_a_grammar_finds_what_lines_do_not() -> None:
    assert shown("boat.c", C) == [
        (1, 0, "struct boat { int oars; };"),
        (3, 0, "int paddle(int strokes, int boats)"),
        (7, 0, "int sink(void);"),
    ]


def test_without_the_grammar_lines_do() -> None:
    script = (
        "import sys; sys.modules['tree_sitter_c'] = None\n"
        "from marvin_server.workspace.repo_map.outline import outline\n"
        "print([one.name for one in outline('boat.c', sys.argv[1])])"
    )
    done = subprocess.run([sys.executable, "-c", script, C], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "['boat', 'paddle']\n"


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "class A:\n    async def b(self): ...\nLIMIT = 3\nx = 1\n", ["A", "b", "LIMIT"]),
        ("a.go", "func (b *Boat) Paddle() {}\ntype Boat struct {\n", ["Paddle", "Boat"]),
        ("a.rs", "pub(crate) async fn paddle() {}\nimpl Boat {\n    fn sink() {}\n", ["paddle", "sink"]),
        ("A.java", "public final class A {\n  private static int b(int c) {\n    return d(c);\n", ["A", "b"]),
        ("a.ts", "export interface A {}\nexport const b = async (c: D) => e\n", ["A", "b"]),
        ("a.rb", "module A\n  class B::C\n    def self.d\n", ["A", "C", "d"]),
        ("a.lua", "local function a() end\nfunction M.b(c) end\n", ["a", "b"]),
        ("a.el", "(defun a-b ()\n(cl-defstruct (c-d (:copier nil)))\n", ["a-b", "c-d"]),
        ("a.sh", "a() {\nfunction b {\n", ["a", "b"]),
        ("a.php", "<?php\nclass A {\n  public function b() {}\n}\n", ["A", "b"]),
        ("a.md", "# class A:\n", []),
    ],
)
def test_definitions_are_found_in_many_languages(path: str, text: str, names: list[str]) -> None:
    assert [one.name for one in outline(path, text)] == names


def test_what_is_shown_of_a_definition_is_one_short_harmless_line() -> None:
    text = "def a(\n    b: int,\x1b[31m\n    c: str = '" + "x" * 500 + "',\n): ...\n"
    ((_, _, line),) = shown("a.py", text)
    assert len(line) <= 200
    assert line.startswith("def a(b: int,")
    assert line.isprintable()
