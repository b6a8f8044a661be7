"""The map of real folders: what is found, what is kept of it, and what repositories that mean harm can do."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from marvin_server.tokens import estimate
from marvin_server.workspace.confine import Root
from marvin_server.workspace.repo_map.graph import pagerank
from marvin_server.workspace.repo_map.repo_map import RepoMap
from marvin_server.workspace.repo_map.scan import scan
from marvin_server.workspace.repo_map.scanning import scan_all
from marvin_server.workspace.repo_map.segment import Segment, segment
from marvin_server.workspace.repo_map.words import stems
from marvin_server.workspace.workspace import Workspace
from tests.patience import SECONDS
from tests.processes import processes_with
from tests.session.memory_editor import MemoryEditor

PARSER = '''"""Reads invoices."""

from shop.money import Amount


class InvoiceParser:
    """Turns the lines of an invoice into amounts."""

    def parse(
        self,
        text: str,
    ) -> list[Amount]:
        return [Amount(line) for line in text.split()]
'''
FILES = {
    "shop/parser.py": PARSER,
    "shop/money.py": "class Amount:\n    def rounded(self) -> int:\n        return 1\n",
    "shop/mail.py": "def deliver(letter: str) -> None:\n    print(letter)\n",
    "shop/unrelated.py": "def walk() -> None:\n    pass\n",
    "README.md": "A shop.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    write(folder, FILES)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "maps"


@pytest.fixture
def repo_map(root: Path, cache: Path) -> RepoMap:
    return opened(root, cache)


def opened(root: Path, cache: Path, editor: MemoryEditor | None = None) -> RepoMap:
    return RepoMap(Workspace(Root(root), editor), cache)


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await asyncio.to_thread(holds):
            pass


async def first(repo_map: RepoMap, query: str) -> str:
    return (await repo_map.ranked(query))[0].path


async def test_a_question_finds_the_file_and_the_lines_that_it_is_about(repo_map: RepoMap) -> None:
    shown = await repo_map.text("How are invoices parsed?", [], 200)
    assert shown.splitlines()[:3] == [
        "shop/parser.py",
        "     6: class InvoiceParser",
        "     9:   def parse(self, text: str) -> list[Amount]",
    ]


async def test_what_a_file_at_work_depends_on_comes_before_what_it_does_not(repo_map: RepoMap) -> None:
    paths = [one.path for one in await repo_map.ranked("", ["shop/parser.py"])]
    assert paths[:2] == ["shop/parser.py", "shop/money.py"]
    assert "shop/mail.py" not in paths


async def test_without_a_question_what_most_files_depend_on_comes_first(root: Path, cache: Path) -> None:
    write(root, {f"shop/user{number}.py": "from shop.money import Amount\n" for number in range(5)})
    assert await first(opened(root, cache), "") == "shop/money.py"


async def test_what_changes_on_disk_counts_at_once(repo_map: RepoMap, root: Path) -> None:
    assert await first(repo_map, "deliver a letter") == "shop/mail.py"
    write(root, {"shop/post/office.py": "def stamp_parcel(parcel: str) -> None:\n    pass\n"})
    (root / "shop/mail.py").unlink()
    assert await first(repo_map, "stamp_parcel") == "shop/post/office.py"
    assert all(one.path != "shop/mail.py" for one in await repo_map.ranked("deliver a letter"))
    before = (root / "shop/unrelated.py").stat()
    (root / "shop/unrelated.py").write_text("def kayak() -> None:\n    pass\n")
    os.utime(root / "shop/unrelated.py", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert await first(repo_map, "kayak") == "shop/unrelated.py"


async def test_what_is_typed_and_not_saved_counts_more_than_the_disk(root: Path, cache: Path) -> None:
    editor = MemoryEditor()
    editor.open(root / "shop/mail.py")
    editor.type(root / "shop/mail.py", "def telegraph(words: str) -> None: ...\n")
    shown = await opened(root, cache, editor).text("telegraph", [], 300)
    assert shown.splitlines()[:2] == ["shop/mail.py", "     1: def telegraph(words: str) -> None: ..."]


async def test_another_process_finds_what_was_kept(repo_map: RepoMap, root: Path, cache: Path) -> None:
    before = await repo_map.ranked("invoices")
    (kept,) = cache.glob("*.db")
    written = kept.read_bytes()
    assert await opened(root, cache).ranked("invoices") == before
    assert kept.read_bytes() == written


async def test_many_small_changes_are_put_together(root: Path, cache: Path) -> None:
    for number in range(20):
        write(root, {f"shop/more{number}.py": f"def kayak_{number}() -> None: ...\n"})
        assert await first(opened(root, cache), f"kayak_{number}") == f"shop/more{number}.py"
    with closing(sqlite3.connect(next(cache.glob("*.db")))) as database:
        ((segments,),) = database.execute("SELECT count(*) FROM parts WHERE kind = 1").fetchall()
    assert segments < 10


async def test_a_broken_cache_is_made_anew(repo_map: RepoMap, root: Path, cache: Path) -> None:
    await repo_map.ranked("invoices")
    (kept,) = cache.glob("*.db")
    whole = kept.read_bytes()
    for rubbish in (b"no database at all" * 100, b"SQLite format 3\0" + bytes(5000), whole[: len(whole) // 2], b""):
        for suffix in ("-wal", "-shm"):
            Path(f"{kept}{suffix}").unlink(missing_ok=True)
        kept.write_bytes(rubbish)
        assert await first(opened(root, cache), "invoices") == "shop/parser.py"
        assert parts(kept)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE parts SET content = replace(content, CAST('Invoice' AS BLOB), CAST('Unknown' AS BLOB))",
        "UPDATE parts SET content = CAST(content AS TEXT)",
        "UPDATE parts SET content = substr(content, 1, 40)",
        "UPDATE parts SET kind = 1 - kind",
        "DROP TABLE parts; CREATE TABLE parts (path BLOB PRIMARY KEY, facts BLOB); PRAGMA user_version = 1",
        "DROP TABLE parts; CREATE VIEW parts AS SELECT 1 AS checksum, 1 AS kind, NULL AS content",
    ],
)
async def test_a_cache_that_holds_something_else_makes_no_wrong_map(
    repo_map: RepoMap, root: Path, cache: Path, change: str
) -> None:
    before = await repo_map.ranked("invoices")
    (kept,) = cache.glob("*.db")
    with closing(sqlite3.connect(kept)) as database:
        database.executescript(change)
    for _ in range(2):
        assert await opened(root, cache).ranked("invoices") == before
    assert parts(kept)


@pytest.mark.parametrize("folder", ["a file", "/proc/no/such/folder"])
async def test_a_cache_that_cannot_be_written_costs_only_time(root: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / "a file").write_text("where a folder should be")
    assert await first(opened(root, tmp_path / folder), "invoices") == "shop/parser.py"


def test_a_full_disk_costs_only_time(root: Path, cache: Path) -> None:
    asks = (
        "import asyncio, resource, sys\n"
        "from pathlib import Path\n"
        "from tests.workspace.test_repo_map import first, opened\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "print(asyncio.run(first(opened(*map(Path, sys.argv[1:])), 'invoices')))\n"
    )
    for _ in range(2):
        asked = subprocess.run([sys.executable, "-c", asks, root, cache], capture_output=True, text=True, check=False)
        assert (asked.stdout, asked.stderr) == ("shop/parser.py\n", "")


def parts(kept: Path) -> list[tuple[int]]:
    with closing(sqlite3.connect(kept)) as database:
        return database.execute("SELECT checksum FROM parts").fetchall()


async def test_a_question_beneath_a_long_log_is_answered(repo_map: RepoMap) -> None:
    log = " ".join(f"word{number}" for number in range(20_000))
    assert await first(repo_map, f"{log}\nWhere is a letter delivered?") == "shop/mail.py"


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("query", "def runQueries(): ..."),
        ("who parses headers?", "class HTTPHeaderParser: ..."),
        ("flies", "fly = 1"),
        ("приветмир", "ПриветМир = 1"),
    ],
)
async def test_a_word_is_found_in_all_its_spellings(root: Path, cache: Path, question: str, written: str) -> None:
    write(root, {"shop/new.py": written})
    assert await first(opened(root, cache), question) == "shop/new.py"


@pytest.mark.parametrize("tokens", [1, 20, 60, 400])
async def test_a_map_keeps_to_its_tokens(repo_map: RepoMap, tokens: int) -> None:
    assert estimate(await repo_map.text("invoices amounts letters", [], tokens)) <= tokens


async def test_protected_files_tickets_and_links_are_not_on_the_map(root: Path, cache: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside.py": "def zebra() -> None: ...\n"})
    write(root, {".env": "zebra=1\n", ".env.py/a.py": "zebra = 1\n", ".tickets/t.md": "zebra\n", ".gitignore": "x\n"})
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "loop").symlink_to(root)
    repo_map = opened(root, cache)
    paths = {one.path for one in await repo_map.ranked("zebra")}
    assert paths.isdisjoint({".env", ".env.py/a.py", ".tickets/t.md", "link.py"})
    assert not any(path.startswith("loop/") for path in paths)


async def test_names_and_lines_with_escape_sequences_are_shown_harmlessly(root: Path, cache: Path) -> None:
    write(root, {"shop/\x1b[31mred\n.py": "def zebra(stripe: str = '\x1b]0;title\x07') -> None: ...\n"})
    (root / os.fsdecode(b"shop/zebra\xff.py")).write_text("def zebra() -> None: ...\n")
    shown = await opened(root, cache).text("zebra", [], 400)
    assert "zebra" in shown
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert shown.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"zebra = 1\n" * 60_000,
        b"zebra;" * 10_000,
        b"#!/usr/bin/python\nzebra\0",
        b"".join(b"zebra%d = 1\n" % number for number in range(50_000)),
    ],
    ids=["huge", "minified", "binary", "many names"],
)
def test_of_what_nobody_writes_by_hand_only_the_path_counts(content: bytes) -> None:
    assert scan("shop/thing.py", content) == scan("shop/thing.py", b"\0")


def test_a_deeply_nested_file_is_read_like_any_other() -> None:
    nested = b"".join(b" " * depth + b"def f%d():\n" % depth for depth in range(200))
    assert scan("a.py", nested + b"(" * 15_000).defines


async def test_many_files_are_scanned_by_processes_to_the_same_end(root: Path) -> None:
    write(root, {f"many/f{number}.py": f"def made_{number}() -> int:\n    return 1\n" for number in range(250)})
    stamps = {path.relative_to(root).as_posix(): (1, path.stat().st_size, 2) for path in sorted(root.rglob("*.py"))}
    found: list[bytes] = []
    await scan_all(Root(root), stamps, found.append)
    segments = [msgspec.msgpack.decode(one, type=Segment) for one in found]
    assert dict(file for one in segments for file in one.files) == stamps
    for one in segments:
        facts = ((path, stamp, scan(path, (root / path).read_bytes())) for path, stamp in one.files)
        assert names_of(one) == names_of(segment(facts))


def names_of(one: Segment) -> list[dict[bytes, list[int]]]:
    return [
        {name: list(files) for name, files in terms.of(terms.all())} for terms in (one.has, one.defines, one.called)
    ]


@pytest.fixture
def large(root: Path) -> Path:
    """A workspace that takes a while to scan."""
    text = "\n".join(f"def made_{number}() -> int: ..." for number in range(2000))
    write(root, {f"many/f{number}.py": text for number in range(1500)})
    return root


async def test_who_is_cancelled_leaves_no_process(large: Path) -> None:
    stamps = {path.relative_to(large).as_posix(): (1, path.stat().st_size, 2) for path in large.rglob("*.py")}
    scanning = asyncio.create_task(scan_all(Root(large), stamps, lambda encoded: None))
    await until(lambda: processes_with(str(large)))
    scanning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scanning
    assert processes_with(str(large)) == []


async def test_a_scan_goes_on_when_nobody_waits_for_it_any_more(large: Path, cache: Path) -> None:
    repo_map = opened(large, cache)
    asking = asyncio.create_task(repo_map.ranked("invoices"))
    await until(lambda: processes_with(str(large)))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    scanning = seen = set(processes_with(str(large)))
    ranked = asyncio.create_task(repo_map.ranked("invoices"))
    while not ranked.done():
        seen = seen | set(await asyncio.to_thread(processes_with, str(large)))
    assert (await ranked)[0].path == "shop/parser.py"
    assert seen == scanning != set()


async def test_a_scan_ends_when_the_map_is_closed(large: Path, cache: Path) -> None:
    repo_map = opened(large, cache)
    asking = asyncio.create_task(repo_map.ranked("invoices"))
    await until(lambda: processes_with(str(large)))
    await repo_map.close()
    assert processes_with(str(large)) == []
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_map_says_how_many_files_are_not_on_it(root: Path, cache: Path) -> None:
    write(
        root, {"shop/deep/down.py": "def telegraph() -> None: ...\n", "shop/deep/up.py": "def letter() -> None: ...\n"}
    )
    for _ in range(2):
        repo_map = RepoMap(Workspace(Root(root)), cache, most_files=5)
        shown = await repo_map.text("deliver a letter", [], 100)
        note = "[Only the 5 files nearest to the root were looked at: 2 deeper ones are not on this map.]"
        assert shown.splitlines() == ["shop/mail.py", "     1: def deliver(letter: str) -> None", note]
        assert estimate(shown) <= 100
        assert note in await repo_map.block("deliver a letter", 100)


async def test_an_empty_workspace_has_an_empty_map(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert await opened(tmp_path / "empty", cache).text("", [], 100) == ""


def test_words_of_code_and_prose_meet() -> None:
    assert stems(b"parseHTTPHeaders") == stems(b"parsing_http_header")
    assert stems(b"Queries") == stems(b"query")


def test_rank_goes_where_links_lead_and_looks_at_no_more_than_it_must() -> None:
    looked: list[int] = []

    def neighbours(node: int) -> dict[int, float]:
        looked.append(node)
        return {node + 1: 0.5, node + 2: 0.5}

    rank = pagerank({0: 1.0}, neighbours, damping=0.5, tolerance=1e-3)
    assert rank[0] > rank[2] > rank[1] > rank[4]
    assert len(looked) < 100
