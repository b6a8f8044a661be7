"""A command in the sandbox writes in the workspace and nowhere else, and reads no key."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from marvin_server.workspace.process import Completed
from tests.patience import SECONDS
from tests.workspace.sandbox.place import SECRET, Place

WRITES = {
    "a new file": "echo x > ../other/new",
    "over a file": "echo x > ../other/file",
    "to the end of a file": "echo x >> ../other/file",
    "a shorter file": "truncate -s 0 ../other/file",
    "no file any more": "rm -f ../other/file",
    "another file in its place": "echo x > mine; mv -f mine ../other/file",
    "a file taken away": "mv ../other/file .",
    "a folder": "mkdir ../other/folder; mkdir -p ~/.config/autostart",
    "in the home": "echo x > ~/.bashrc; echo x >> ~/.profile",
    "through a symbolic link": "ln -s ../other link; echo x > link/new; echo x > link/file",
    "through a hard link": "ln ../other/file hard && echo x > hard",
    "through /proc": 'echo x > "/proc/self/root$PWD/../other/file"; echo x > "/proc/self/cwd/../other/file"',
    "through another process's root": 'for root in /proc/[0-9]*/root; do echo x > "$root$PWD/../other/file"; done',
    "by mounting": "mount --bind . ../other; mount -o remount,rw,bind /; mount -o remount,rw /; echo x > ../other/new",
    "by a user namespace": (
        "unshare -rm sh -c 'mount -o remount,rw,bind /; umount -l ../other; echo x > ../other/new'"
    ),
    "by a mount namespace": "unshare -m sh -c 'mount -o remount,rw,bind /; echo x > ../other/new'",
    "by a name space of another process": "nsenter -t 1 -m sh -c 'echo x > $PWD/../other/new'",
    "a fifo, a socket and a device": "mkfifo ../other/fifo; mknod ../other/null c 1 3",
    "with copied modes and links": "cp -al ../other ../copy; rsync -a . ../other/ 2>&1; tar -C ../other -xf /dev/null",
    "into the session store": 'echo x >> "$STORE"; echo x > "$STORE-wal"; rm -f "$STORE"',
    "other modes": "chmod 777 ../other/file ~/.ssh ../other; chmod u+s ../other/file",
    "other owners": "chown 1234 ../other/file",
}
# Landlock has no say in modes and owners.
WEAK = {"other modes", "other owners"}
READS = {
    "a private key": "cat ~/.ssh/id_ed25519 ~/.ssh/*",
    "a login": "cat ~/.netrc ~/.config/gh/hosts.yml ~/.docker/config.json",
    "the session store": 'cat "$STORE"; cp "$STORE" store; cat store',
    "a copy of a folder": "cp -r ~/.ssh keys; cat keys/*; tar c ~/.ssh | strings",
    "a hard link to a key": "ln ~/.ssh/id_ed25519 key; cat key",
    "a symbolic link to a key": "ln -s ~/.ssh/id_ed25519 key; cat key",
    "a key through /proc": 'for root in /proc/[0-9]*/root; do cat "$root$HOME/.ssh/id_ed25519"; done',
    "a key below a mount": "umount ~/.ssh ~/.netrc; umount -l ~/.ssh; cat ~/.ssh/* ~/.netrc",
    "a key below a mount, in a user namespace": "unshare -rm sh -c 'umount -l ~/.ssh ~/.netrc; cat ~/.ssh/* ~/.netrc'",
    "a key in another bind": "mkdir m; mount --bind ~ m; cat m/.netrc; mount --rbind ~ m; cat m/.netrc",
    "a disk, the memory or a terminal": (
        "for device in /dev/[svx][dr][a-z] /dev/nvme* /dev/mem /dev/kmsg /dev/pts/[0-9]* /proc/kcore; do "
        f'head -c 1 "$device" < /dev/null > /dev/null && echo {SECRET}; done 2>/dev/null'
    ),
    "a moved key": "mv ~/.ssh keys; cat keys/*",
}
SECRETS_IN_WORK = {
    ".env": "cat .env",
    "in a folder that Git ignores": "cat ignored/deep/.env.local",
    "another case": "cat ignored/.ENV.production",
    "a moved file": "mv .env x; cat x",
    "a moved folder": "mv ignored seen; cat seen/deep/.env.local",
    "a hard link": "ln .env x; cat x",
    "a symbolic link to another place": "cat linked/.env ../other/production; cat ../other/production",
    "below the mount": "umount .env; umount -l .env; unshare -rm sh -c 'umount -l .env; cat .env'; cat .env",
    "all of it": "cp -r . /tmp/all; grep -r . /tmp/all; tar c . | cat; grep -r 5ecret .",
    "a folder of that name": "cat folder/.env/key",
}
GIT = {
    "a new hook": "echo x > .git/hooks/pre-commit",
    "a changed hook": "echo x >> .git/hooks/post-commit; chmod 777 .git/hooks/post-commit",
    "no hooks": "rm -rf .git/hooks; mv .git/hooks .git/old",
    "the configuration": "echo x >> .git/config; git config core.hooksPath evil; rm -f .git/config",
    "another repository": "mv .git old && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
    "a nested repository": "echo x > nested/.git/hooks/pre-commit; mv nested/.git old; echo x >> nested/.git/config",
    "another assistant's settings": "echo x > .claude/settings.json; rm -rf .claude; mv .claude old; rm .mcp.json",
    "Marvin's own": "echo x > .marvin/config.yaml; mv .marvin old",
    "where a linked work tree is": "echo 'gitdir: /x' > tree/.git; rm tree/.git",
}


def hostile(place: Place, command: str) -> str:
    return f"STORE={shlex.quote(str(place.store))}; {command}"


@pytest.mark.parametrize("command", WRITES.values(), ids=WRITES.keys())
async def test_nothing_is_written_outside(command: str, place: Place, request: pytest.FixtureRequest) -> None:
    before = place.outside()
    done = await place.run(hostile(place, command))
    if "Landlock" in request.node.name and any(f"-{name}]" in request.node.name for name in WEAK):
        assert {name: look[3] for name, look in place.outside().items()} == {n: look[3] for n, look in before.items()}
    else:
        assert place.outside() == before, done.output


async def test_no_setting_of_the_kernel_is_written(place: Place) -> None:
    files = (
        "/proc/sys/vm/swappiness /proc/sys/kernel/core_pattern /sys/kernel/mm/ksm/run /sys/fs/cgroup/*/release_agent"
    )
    done = await place.run(f'for file in {files}; do text=$(cat "$file"); echo "$text" > "$file" && echo WRITTEN; done')
    assert "WRITTEN" not in done.output


@pytest.mark.parametrize("command", READS.values(), ids=READS.keys())
async def test_no_key_is_read(command: str, place: Place) -> None:
    done = await place.run(hostile(place, command))
    assert SECRET not in done.output
    assert SECRET not in contents(place.work)


@pytest.mark.parametrize("command", SECRETS_IN_WORK.values(), ids=SECRETS_IN_WORK.keys())
async def test_no_env_file_of_the_workspace_is_read(command: str, strong_place: Place) -> None:
    place = strong_place
    for name in (".env", "ignored/deep/.env.local", "ignored/.ENV.production", "folder/.env/key"):
        place.write(f"work/{name}", SECRET)
    place.write("work/.gitignore", "ignored\n.env*\n")
    place.write("other/production", SECRET)
    (place.work / "linked").mkdir()
    (place.work / "linked" / ".env").symlink_to("../../other/production")
    done = await place.run(command)
    assert SECRET not in done.output


async def test_samples_and_virtual_environments_named_env_stay_readable(place: Place) -> None:
    place.write("work/.env/pyvenv.cfg", "home = /usr/bin\n")
    done = await place.run("cat .env.example .env/pyvenv.cfg")
    assert done.output == "TOKEN=\nhome = /usr/bin\n"


@pytest.mark.parametrize("command", GIT.values(), ids=GIT.keys())
async def test_what_runs_later_stays_as_it_is(command: str, strong_place: Place) -> None:
    place = strong_place
    for folder in (place.work, place.work / "nested"):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)  # noqa: ASYNC221
    place.write("work/.git/hooks/post-commit", "exit\n")
    place.write("work/.claude/settings.json", "{}")
    place.write("work/.mcp.json", "{}")
    place.write("work/.marvin/config.yaml", "")
    place.write("work/tree/.git", "gitdir: ../../other\n")
    before = protected(place.work)
    done = await place.run(command)
    assert protected(place.work) == before
    assert "although protected" not in done.output


@pytest.mark.parametrize("name", [".mcp.json", ".claude/settings.json", ".cursorrules", ".git/hooks/pre-commit"])
async def test_a_protected_file_that_was_not_there_is_told_of(name: str, place: Place) -> None:
    done = await place.run(f"mkdir -p {Path(name).parent}; echo x > {name}")
    place_of_it = place.work / Path(name).parts[0]
    assert f"[changed while this ran, although protected: {place_of_it}" in done.output


async def test_landlock_tells_what_it_cannot_prevent(place: Place) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=place.work, check=True)  # noqa: ASYNC221
    done = await place.run("echo x > .git/hooks/pre-commit")
    told = f"[changed while this ran, although protected: {place.work}/.git/hooks]" in done.output
    assert told == (place.work / ".git" / "hooks" / "pre-commit").exists()


async def test_only_its_own_temporary_files_are_there(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(SECRET)
    sandbox = place.sandbox()
    first = await place.run(
        f'cat {tmp_path}/file; echo x > {tmp_path}/file; mktemp -u; echo kept > "$TMPDIR/note"', sandbox=sandbox
    )
    assert SECRET not in first.output
    assert (tmp_path / "file").read_text() == SECRET
    assert (await place.run('cat "$TMPDIR/note"', sandbox=sandbox)).output == "kept\n"
    assert "kept" not in (await place.run('cat "$TMPDIR/note"')).output


async def test_folders_that_the_person_adds_are_writable(place: Place) -> None:
    sandbox = place.sandbox(more_roots=(place.other, place.base / "missing"))
    done = await place.run("echo new > ../other/file && echo x > ../new", sandbox=sandbox)
    assert (done.exit_code, (place.other / "file").read_text()) == (1, "new\n")
    assert not (place.base / "new").exists()


async def test_a_workspace_in_a_hidden_folder_is_open_and_its_neighbours_are_not(place: Place) -> None:
    place.work = place.home / ".ssh" / "project"
    place.write("home/.ssh/project/file", "mine\n")
    done = await place.run("cat file; echo x > new; cat ../id_ed25519")
    assert SECRET not in done.output
    assert done.output.startswith("mine\n")
    assert (place.work / "new").exists()


async def test_a_workspace_that_is_the_home_still_hides_its_keys(strong_place: Place) -> None:
    place = strong_place
    place.work = place.home
    done = await place.run("echo x > new; cat .ssh/* .netrc; ln .netrc x; cat x; mv .ssh y; cat y/*")
    assert SECRET not in done.output
    assert (place.home / "new").exists()


async def test_a_folder_that_was_moved_away_is_not_mistaken(place: Place) -> None:
    from marvin_server.workspace.process import Processes, shell_argv

    meant = place.work / "meant"
    meant.mkdir()
    fd = os.open(meant, os.O_RDONLY)
    meant.rename(place.work / "moved")
    meant.mkdir()
    argv = shell_argv("touch here", place.environ)
    done = await Processes().run(argv, cwd=fd, environ=place.environ, timeout=SECONDS, sandbox=place.sandbox())
    os.close(fd)
    assert list(meant.iterdir()) == []
    assert done.exit_code == 0 or re.search("Nothing was run|No such file", done.output)


async def test_what_stood_in_the_way_is_said(place: Place) -> None:
    done = await place.run("touch ../other/new")
    assert done.output.splitlines()[-1] == (
        f"[{place.sandbox().state.partition(',')[0]}: commands write beneath the workspace and $TMPDIR only, not to "
        "protected files there, and have no network. The person can allow more (settings sandbox_roots and "
        "sandbox_network) or go without (--sandbox off).]"
    )
    assert await place.run("touch new") == Completed(0, "", 0, timed_out=False)


def contents(folder: Path) -> str:
    return "".join(
        path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )


def protected(work: Path) -> dict[str, tuple[int, str]]:
    """The protected files with their modes and texts; Git's own bookkeeping is left out."""
    names = (
        ".git/hooks",
        ".git/config",
        "nested/.git/hooks",
        "nested/.git/config",
        ".claude",
        ".mcp.json",
        ".marvin",
        "tree",
    )
    paths = [path for name in names for path in (work / name, *(work / name).rglob("*")) if path.is_file()]
    return {str(path.relative_to(work)): (path.stat().st_mode, path.read_text()) for path in paths}
