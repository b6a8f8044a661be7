"""Searching: ripgrep and its stand-in give the same answers, in one order, over whatever lies in a workspace."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_server.errors import PathRefused, PermissionNeeded, ToolError
from marvin_server.workspace.confine import Root
from marvin_server.workspace.globs import glob_pattern
from marvin_server.workspace.listing import tree
from marvin_server.workspace.process import Processes
from marvin_server.workspace.search import Line, SearchResult, search
from tests.patience import SECONDS

ENGINES = {"ripgrep": {"PATH": os.environ["PATH"]}, "python": {"PATH": "/nowhere"}}
SWAP = """
import os
print(end="x", flush=True)
while True:
    for real, link in (("folder", "folder link"), ("file", "file link"), ("other", "env link")):
        os.rename(real, "spare")
        os.rename(link, real)
        os.rename(real, link)
        os.rename("spare", real)
"""
NEEDS_RG = "ripgrep is not installed; the two engines cannot be compared"


@pytest.fixture(autouse=True, scope="module")
def _ripgrep() -> None:  # pyright: ignore[reportUnusedFunction]
    if not shutil.which("rg"):
        if os.environ.get("CI") == "true":
            pytest.fail(NEEDS_RG)
        pytest.skip(NEEDS_RG)


@pytest.fixture
def nasty(tmp_path: Path) -> Root:
    """A repository with one of everything that makes searching hard."""
    files = {
        ".git/config": b"needle\n",
        ".gitignore": b"ignored.txt\nbuild/\n",
        ".hidden": b"a hidden needle\n",
        ".env": b"KEY=needle\n",
        ".env.example": b"KEY=needle\n",
        "-": b"needle in a dash\n",
        "--files": b"needle in an option\n",
        "bom.txt": b"\xef\xbb\xbfneedle after a mark\n",
        "build/out.txt": b"needle\n",
        "crlf.txt": b"one\r\nneedle\r\n\r\nthree needle\r\n",
        "a/x.txt": b"needle below a\n",
        "a.txt": b"needle beside a\n",
        "a-b/x.txt": b"needle below a-b\n",
        "empty.txt": b"",
        "ignored.txt": b"needle\n",
        "latin.txt": "café needle\nnaïve\nneedle é\n".encode("latin-1"),
        "late.bin": b"needle\n" + (b"x" * 999 + b"\n") * 100 + b"\0\n",
        "long.txt": b"x" * 3000 + b"needle" + b"y" * 3000 + b"\nneedle\n" + b"z" * 600 + b"\n",
        "nul.bin": b"needle\0needle\nneedle\n",
        "open.txt": b"first\nneedle without an end",
        "plain.txt": b"zero\nneedle one\ntwo\nthree\nNeedle four\nfive needle needle\nsix\n",
        "sub/.gitignore": b"*.log\n!keep.log\n",
        "sub/drop.log": b"needle\n",
        "sub/keep.log": b"needle kept\n",
        "sub/deep/é中.txt": "ein nädel needle 中文\n".encode(),
        "utf16.txt": "wide needle é\r\nother\r\n".encode("utf-16"),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_bytes(b"needle in an odd name\n")
    (tmp_path / "link.txt").symlink_to("plain.txt")
    (tmp_path / "linked").symlink_to("sub")
    os.mkfifo(tmp_path / "pipe")
    return Root(tmp_path)


async def answers(root: Root, pattern: str, **options: object) -> list[SearchResult]:
    """What each engine answers."""
    return [
        await search(Processes(), root, pattern, environ=environ, **options)  # pyright: ignore[reportArgumentType]
        for environ in ENGINES.values()
    ]


@pytest.fixture(params=ENGINES)
def find(request: pytest.FixtureRequest, nasty: Root) -> Callable[..., object]:
    def find(pattern: str, **options: object) -> object:
        return search(Processes(), nasty, pattern, environ=ENGINES[request.param], **options)  # pyright: ignore[reportArgumentType]

    return find


FOUND = [
    ("-", 1, "needle in a dash"),
    ("--files", 1, "needle in an option"),
    (".env.example", 1, "KEY=needle"),
    (".hidden", 1, "a hidden needle"),
    ("a/x.txt", 1, "needle below a"),
    ("a-b/x.txt", 1, "needle below a-b"),
    ("a.txt", 1, "needle beside a"),
    ("bom.txt", 1, "needle after a mark"),
    ("caf\udce9.txt", 1, "needle in an odd name"),
    ("crlf.txt", 2, "needle"),
    ("crlf.txt", 4, "three needle"),
    ("late.bin", 1, "needle"),
    ("latin.txt", 1, "caf� needle"),
    ("latin.txt", 3, "needle �"),
    ("long.txt", 1, "…" + "x" * 150 + "needle" + "y" * 344 + "…"),
    ("long.txt", 2, "needle"),
    ("open.txt", 2, "needle without an end"),
    ("plain.txt", 2, "needle one"),
    ("plain.txt", 6, "five needle needle"),
    ("sub/deep/é中.txt", 1, "ein nädel needle 中文"),
    ("sub/keep.log", 1, "needle kept"),
    ("utf16.txt", 1, "wide needle é"),
]


async def test_both_engines_find_the_same_lines_in_one_order(nasty: Root):
    by_ripgrep, by_python = await answers(nasty, "needle")
    expected = tuple(Line(path, number, text) for path, number, text in FOUND)
    assert sorted(by_ripgrep.lines, key=lambda line: line.path.split("/")) == list(by_ripgrep.lines)
    assert set(by_ripgrep.lines) == set(expected)
    assert by_python == by_ripgrep
    assert not by_ripgrep.truncated


@pytest.mark.parametrize(
    "pattern",
    [
        "", "^$", "^", "$", "needle$", "^needle", r"\bneedle\b", "needle.", ".needle", r"needle\s", r"\Sneedle", ".",
        "[^a-z]needle", "n(e+)dle", "(?i)NEEDLE", "needle|three", "(?:zero|six)$", r"\d", r"\w+ \w+", "é", "caf.", "中",
        r"\x6eeedle", "x{5}needle", "(?P<word>needle)", r"(needle) \1", "(?<=a )hidden", "needle(?! o)", r"\Aneedle",
        r"needle\Z", "(?x) need le # comment", "a{1,3}?", r"\.", "n[e]{2}d", "(?s)one.", "needle*+", "(?>needle)",
        r"\n", r"\r",
    ],
)  # fmt: skip
@pytest.mark.parametrize("context", [0, 1])
async def test_both_engines_agree_on_a_pattern(pattern: str, context: int, nasty: Root):
    by_ripgrep, by_python = await answers(nasty, pattern, context=context, limit=100)
    assert by_ripgrep == by_python


TEXT = st.lists(st.sampled_from([*"ab .é\n\u2028x", "\r\n"]), max_size=40).map("".join)
ATOM = st.sampled_from(
    ["a", "b", "é", ".", r"\w", r"\b", "[ab]", "[^a]", " ", "x*", "(a|b)", "^", "$", "a+?", "(?:ab)?"]
)


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=4), st.lists(ATOM, min_size=1, max_size=4), st.booleans(), st.integers(0, 2))
async def test_both_engines_agree_on_generated_files(
    texts: list[str], atoms: list[str], ignore_case: bool, context: int
):
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.txt").write_bytes(text.encode())
        root = Root(Path(folder))
        by_ripgrep, by_python = await answers(root, "".join(atoms), ignore_case=ignore_case, context=context, limit=5)
        root.close()
    assert by_ripgrep == by_python


async def test_context_is_marked_and_not_counted(find: Callable[..., object]):
    assert await find("needle", path="plain.txt", context=1, limit=1) == SearchResult(  # pyright: ignore[reportGeneralTypeIssues]
        (
            Line("plain.txt", 1, "zero", is_match=False),
            Line("plain.txt", 2, "needle one"),
            Line("plain.txt", 3, "two", is_match=False),
        ),
        truncated=True,
    )


@pytest.mark.parametrize(("engine", "found"), [("ripgrep", ["b.txt"]), ("python", ["a.txt", "b.txt"])])
async def test_what_rgignore_leaves_out_only_ripgrep_leaves_out(engine: str, found: list[str], tmp_path: Path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("needle\n")
    (tmp_path / ".rgignore").write_text("a.txt\n")
    result = await search(Processes(), Root(tmp_path), "needle", environ=ENGINES[engine])
    assert [line.path for line in result.lines] == found


@pytest.mark.parametrize("limit", [1, 2, 10, 20, 21, 22])
async def test_the_limit_keeps_the_first_matches(limit: int, nasty: Root):
    whole, _ = await answers(nasty, "needle")
    for result in await answers(nasty, "needle", limit=limit):
        assert (result.lines, result.truncated) == (whole.lines[:limit], limit < len(whole.lines))


async def test_a_literal_is_taken_as_it_stands(tmp_path: Path):
    text = r"a.b*(c)[d]{e}^$|\ #&~- é"
    (tmp_path / "f").write_text(f"nothing\n{text}\n")
    for result in await answers(Root(tmp_path), text, literal=True):
        assert result.lines == (Line("f", 2, text),)


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.log", {"sub/keep.log"}),
        ("sub/**", {"sub/keep.log", "sub/deep/é中.txt"}),
        ("**/*.{log,none}", {"sub/keep.log"}),
        ("deep/*.txt", {"sub/deep/é中.txt"}),
        ("!*.log", {"sub/deep/é中.txt"}),
    ],
)
async def test_a_glob_picks_files(glob: str, paths: set[str], nasty: Root):
    for result in await answers(nasty, "needle", path="sub", glob=glob):
        assert {line.path for line in result.lines} == paths


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a.pyc", False),
        ("/*.py", "a/b.py", False),
        ("src/**/t?st.py", "src/test.py", True),
        ("src/**/t?st.py", "src/a/b/tast.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("[!a]*", "abc", False),
        ("[]a]b", "]b", True),
        ("[a-c]\\n", "b\\n", True),
        ("{a,b*}.c", "bb.c", True),
        ("{a,b{c,d}}.x", "bd.x", True),
        ("{src/**,x}", "src/a/b", True),
        ("src", "src/a/b.py", True),
        ("src", "lib/src/a.py", True),
        ("src/", "src/a.py", True),
        ("./src/*.py", "src/a.py", True),
        ("src/*", "src/a/b.py", False),
        ("src/a", "src/a/b.py", True),
        ("src", "src2/a.py", False),
        ("a+(b).c", "a+(b).c", True),
    ],
)
def test_a_glob_is_read_as_editors_read_it(glob: str, path: str, fits: bool):
    assert bool(glob_pattern(glob).fullmatch(path)) is fits


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("foo(", "Bad pattern 'foo(': missing ), unterminated subpattern at position 3."),
        ("a" + "(" * 5000, "Use literal=true to search for the text as it stands."),
        ("one\ntwo", "it cannot hold a line break"),
    ],
)
async def test_a_bad_pattern_says_where_and_what_to_do(pattern: str, message: str, find: Callable[..., object]):
    with pytest.raises(ToolError) as raised:
        await find(pattern)  # pyright: ignore[reportGeneralTypeIssues]
    assert message in str(raised.value)
    assert "literal=true" in str(raised.value) or "\n" in pattern


@pytest.mark.parametrize("glob", ["{a,b", "[a-", "a}", "!", "./"])
async def test_a_glob_with_half_a_pair_is_a_tool_error(glob: str, find: Callable[..., object]):
    with pytest.raises(ToolError, match=r"^Bad glob '.*': (it is empty|'.' has no partner)\. Write for example"):
        await find("x", glob=glob)  # pyright: ignore[reportGeneralTypeIssues]


async def test_a_bad_glob_is_a_tool_error(find: Callable[..., object]):
    with pytest.raises(ToolError, match=r"^Bad glob '\[z-a\]': bad character range"):
        await find("x", glob="[z-a]")  # pyright: ignore[reportGeneralTypeIssues]


async def test_an_env_file_is_searched_only_when_permitted(nasty: Root):
    for environ in ENGINES.values():
        with pytest.raises(PermissionNeeded):
            await search(Processes(), nasty, "needle", environ=environ, path=".env")
        permitted = await search(Processes(), nasty.permitting(".env"), "needle", environ=environ, path=".env")
        assert permitted.lines == (Line(".env", 1, "KEY=needle"),)


async def test_a_path_that_leads_out_is_refused(find: Callable[..., object]):
    with pytest.raises(PathRefused):
        await find("x", path="../outside")  # pyright: ignore[reportGeneralTypeIssues]


async def test_a_missing_path_is_a_tool_error(find: Callable[..., object]):
    with pytest.raises(ToolError, match="no-such-folder"):
        await find("x", path="no-such-folder")  # pyright: ignore[reportGeneralTypeIssues]


async def test_an_ignored_file_is_searched_when_it_is_named(nasty: Root):
    for result in await answers(nasty, "needle", path="ignored.txt"):
        assert result.lines == (Line("ignored.txt", 1, "needle"),)


async def test_a_search_without_files_finds_nothing(tmp_path: Path):
    for result in await answers(Root(tmp_path), "needle"):
        assert result == SearchResult((), truncated=False)


async def test_a_glob_that_fits_no_file_says_so(find: Callable[..., object]):
    with pytest.raises(ToolError, match=r"^No file in '\.' fits the glob '\*\.none'; try for example"):
        await find("needle", glob="*.none")  # pyright: ignore[reportGeneralTypeIssues]


async def test_a_class_that_python_warns_of_is_searched(tmp_path: Path):
    (tmp_path / "f").write_text("one\n")
    for result in await answers(Root(tmp_path), "[[:alpha:]]"):
        assert isinstance(result, SearchResult)


async def test_a_file_that_is_swapped_for_a_link_gives_nothing_away(tmp_path: Path):
    outside = tmp_path / "outside"
    (root := tmp_path / "root").mkdir()
    (root / "folder").mkdir()
    outside.mkdir()
    (outside / "outsider").touch()
    for secret in (outside / "file", root / ".env"):
        secret.write_text("needle SECRET\n")
    for file in (root / "folder/file", root / "file", root / "other"):
        file.write_text("needle\n")
    (root / "folder link").symlink_to("../outside")
    (root / "file link").symlink_to("../outside/file")
    (root / "env link").symlink_to(".env")
    swapping = subprocess.Popen([sys.executable, "-c", SWAP], cwd=root, stdout=subprocess.PIPE)  # noqa: ASYNC220
    try:
        assert swapping.stdout
        swapping.stdout.read(1)
        opened = Root(root)
        for _ in range(20):
            for result in await answers(opened, "needle"):
                assert {line.text for line in result.lines} <= {"needle"}
            assert "outsider" not in tree(opened)
    finally:
        swapping.kill()
        swapping.communicate()


async def test_a_line_of_sixty_megabytes_costs_little_memory(tmp_path: Path):
    (tmp_path / "one.json").write_bytes(b'{"a":1,' * 9_000_000 + b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await search(Processes(), Root(tmp_path), '"a"', environ=ENGINES["ripgrep"])
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 20_000_000
    assert result.lines == (Line("one.json", 1, ('{"a":1,' * 72)[:500] + "…"),)


@pytest.mark.parametrize(("pattern", "is_there"), [("needle", True), ("^needle", False), ("é+needle$", True)])
async def test_engines_agree_on_a_match_where_the_stand_in_parts_a_long_line(
    pattern: str, is_there: bool, tmp_path: Path
):
    line = "x" * 15_999_990 + "é" * 4 + "needle"
    (tmp_path / "f").write_text(f"first\n{line}\nlast\n")
    for result in await answers(Root(tmp_path), pattern):
        assert [(found.number, found.text[-6:]) for found in result.lines] == [(2, "needle")] * is_there


async def test_a_match_deep_in_a_long_line_is_shown_with_what_is_around_it(tmp_path: Path):
    (tmp_path / "f").write_text("é" * 5000 + "needle" + "中" * 5000 + "\n" + "é" * 5000 + "needle")
    for result in await answers(Root(tmp_path), "needle"):
        assert [line.text for line in result.lines] == [
            "…" + "é" * 150 + "needle" + "中" * 344 + "…",
            "…" + "é" * 494 + "needle",
        ]


async def test_more_matches_than_asked_for_end_the_search_early(tmp_path: Path):
    (tmp_path / "log").write_bytes(b"2026-01-01 INFO a request was handled\n" * 2_000_000)
    for result in await answers(Root(tmp_path), "INFO", limit=200, timeout=SECONDS):
        assert (len(result.lines), result.truncated) == (200, True)


async def test_many_files_are_searched_in_several_commands_and_one_order(tmp_path: Path):
    names = [f"{'n' * 200}{number:04}.txt" for number in range(2500)]
    for name in names:
        (tmp_path / name).write_text("needle\n")
    for result in await answers(Root(tmp_path), "needle", limit=5000):
        assert result == SearchResult(tuple(Line(name, 1, "needle") for name in names), truncated=False)


async def test_a_pattern_that_never_ends_is_stopped(tmp_path: Path):
    (tmp_path / "f").write_text("x" * 60)
    with pytest.raises(ToolError, match=r"^The search took over 0\.5 s\. Name a path or a glob, or simplify"):
        await search(Processes(), Root(tmp_path), "(x+x+)+y", environ=ENGINES["python"], timeout=0.5)
    assert (await search(Processes(), Root(tmp_path), "(x+x+)+y", environ=ENGINES["ripgrep"])).lines == ()


@pytest.mark.parametrize("engine", ENGINES)
async def test_unsaved_texts_count_in_place_of_files(tmp_path: Path, engine: str) -> None:
    for name in ("a", "b", "ignored"):
        (tmp_path / name).write_text("needle on disk\n")
    (tmp_path / ".ignore").write_text("ignored\n")
    found = await search(
        Processes(),
        Root(tmp_path),
        "needle",
        environ=ENGINES[engine],
        unsaved={"b": "nothing\nneedle typed\n", "new/c": "a needle\n", "ignored": "needle\n", ".env": "needle"},
    )
    assert [(line.path, line.number, line.text) for line in found.lines] == [
        ("a", 1, "needle on disk"),
        ("b", 2, "needle typed"),
        ("new/c", 1, "a needle"),
    ]
