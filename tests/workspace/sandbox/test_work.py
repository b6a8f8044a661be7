"""What people do all day works in the sandbox."""

import subprocess
import sys
from pathlib import Path

from tests.workspace.sandbox.place import CHECKOUT, Place

GIT = "git -c user.name=A -c user.email=a@example.org"


async def test_git_adds_commits_branches_merges_and_stashes(place: Place) -> None:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=place.work, check=True)  # noqa: ASYNC221
    done = await place.run(
        f"{GIT} add . && {GIT} commit -qm first && {GIT} checkout -qb side && echo 2 > two && {GIT} add two && "
        f"{GIT} commit -qm second && {GIT} checkout -q main && echo 3 > three && {GIT} add three && "
        f"{GIT} commit -qm third && {GIT} merge -q side -m merged && echo x >> two && {GIT} stash -q && {GIT} gc -q && "
        f"{GIT} status --porcelain && {GIT} log --format=%s --first-parent"
    )
    assert (done.output, done.exit_code) == ("merged\nthird\nfirst\n", 0)


async def test_a_virtual_environment_is_made_and_used(place: Place, python: str) -> None:
    done = await place.run(f"{python} -m venv --without-pip venv && venv/bin/python -c 'import json; print(1)'")
    assert (done.output, done.exit_code) == ("1\n", 0)


async def test_pytest_runs(place: Place) -> None:
    place.write("work/pytest.ini", "[pytest]\n")
    place.write("work/test_it.py", "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('y')\n")
    # The checkout may lie in /tmp, of which a command sees only its own.
    sandbox = place.sandbox(more_roots=(Path(sys.prefix), CHECKOUT / "tests"))
    done = await place.run(f"{sys.executable} -m pytest -q test_it.py", sandbox=sandbox)
    assert "1 passed" in done.output


async def test_temporary_files_and_package_caches_have_a_place(place: Place, python: str) -> None:
    names = "CARGO_HOME GOCACHE GOMODCACHE npm_config_cache PIP_CACHE_DIR UV_CACHE_DIR"
    done = await place.run(
        f'for name in {names}; do mkdir -p "${{!name}}" && echo x > "${{!name}}/file" && echo "${{!name}}"; done; '
        f"{python} -c 'import os, tempfile; print(tempfile.gettempdir() == os.environ[\"TMPDIR\"])'; mktemp > /dev/null"
    )
    *caches, last = done.output.splitlines()
    assert (len({*caches}), last, done.exit_code) == (6, "True", 0)
    assert all(Path(cache).is_relative_to(place.base / "cache") for cache in caches)


async def test_devices_and_pipes_work(place: Place) -> None:
    done = await place.run("head -c 3 /dev/urandom | wc -c; echo x > /dev/null; cat <(echo y); echo z > /dev/stderr")
    assert (done.output, done.exit_code) == ("3\ny\nz\n", 0)


async def test_renames_links_and_modes_in_the_workspace_work(place: Place) -> None:
    done = await place.run(
        "mkdir -p a/b && echo x > a/b/c && mv a d && ln d/b/c e && ln -s d/b/c f && chmod 755 e && mv e $TMPDIR/e && "
        "cat f $TMPDIR/e && rm -r d && mkfifo g && touch -d 2020-01-01 source.py"
    )
    assert (done.output, done.exit_code) == ("x\nx\n", 0)
