"""Hostile repositories, made by real git: every setting, hook, attribute and name that could make git run a program.

Each trap has a program of its own that leaves the trap's name in a file.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.workspace.git_folder import GitFolder

# githooks(5) of git 2.39 to 2.55.
_HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist"),
    *("p4-post-changelist", "p4-pre-submit", "post-index-change"),
)
_COMMANDS = (
    *("add", "blame", "branch", "check-attr", "checkout", "commit", "config", "diff", "diff-tree", "for-each-ref"),
    *("log", "ls-files", "ls-tree", "read-tree", "restore", "rev-parse", "rm", "show", "status", "switch"),
)
# git-config(1) of git 2.39 to 2.55: every key whose value is a program or a command line.
_PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.askPass"),
    *("core.alternateRefsCommand", "diff.external", "interactive.diffFilter", "sequence.editor", "web.browser"),
    *("gc.recentObjectsHook", "uploadpack.packObjectsHook", "imap.tunnel", "gitcvs.dbDriver", "sendemail.toCmd"),
    *("sendemail.ccCmd", "sendemail.headerCmd", "sendemail.sendmailCmd", "instaweb.httpd", "help.browser"),
    *("difftool.evil.cmd", "difftool.evil.path", "mergetool.evil.cmd", "mergetool.evil.path", "browser.evil.cmd"),
    *("man.evil.cmd", "man.evil.path", "guitool.evil.cmd", "trailer.evil.cmd", "trailer.evil.command"),
    *("merge.evil.driver", "remote.evil.uploadpack", "remote.evil.receivepack", "remote.evil.vcs", "core.hooksPath"),
)
_TOOLS = {
    "diff.tool": "evil",
    "merge.tool": "evil",
    "gc.auto": "1",
    "trailer.evil.key": "X",
    "status.submoduleSummary": "1",
}
# git(1), "ENVIRONMENT VARIABLES".
_VARIABLES = (
    *("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND"),
    *("GIT_ASKPASS", "GIT_PROXY_COMMAND", "EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS"),
)
NAMES = (
    *("--upload-pack=touch ran", "--output=ran", "-rf", "-", "--", ";touch ran", "$(touch ran)", "a\ntouch ran"),
    *(":(top)x", "HEAD:.env", "refs/heads/x y"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A repository full of traps of one kind.

    ``plant(lair)`` sets them; ``refused`` names the tools that shall refuse to work in it, ``environ`` the variables
    that a person might have set.
    """

    name: str
    plant: Callable[["Lair"], None]
    refused: frozenset[str] = frozenset()
    environ: Callable[["Lair"], Mapping[str, str]] = field(default=lambda lair: {})


class Lair(GitFolder):
    """A repository whose traps have programs that leave a record beside it."""

    def __init__(self, folder: Path) -> None:
        self.traps: list[str] = []
        self._programs, self._record = folder / "programs", folder / "record"
        for path in (self._programs, self._record):
            path.mkdir(parents=True)
        super().__init__(folder)

    def program(self, trap: str) -> str:
        """The path of a program that records that ``trap`` was sprung; a content filter passes its input on."""
        self.traps.append(trap)
        slug = "".join(char if char.isalnum() or char in ".-" else "_" for char in trap)
        path = self._programs / slug
        then = "exec cat" if "filter" in trap else ""
        path.write_text(f"#!/bin/sh\n: > '{self._record}/{slug}'\n{then}\n")
        path.chmod(0o755)
        return str(path)

    def set(self, key: str, value: str) -> None:
        self.git("config", "--file", ".git/config", "--add", key, value)

    def sprung(self) -> list[str]:
        """The traps whose program has run; ``ran`` when a name was read as a command."""
        ran = ["ran"] if any("ran" in files for _, _, files in os.walk(self.root)) else []
        return sorted([*(path.name for path in self._record.iterdir()), *ran])

    def hooks(self, folder: Path, label: str) -> None:
        folder.mkdir(exist_ok=True)
        for name in _HOOKS:
            shutil.copy(self.program(f"{label} {name}"), folder / name)


def _programs(lair: Lair) -> None:
    for key in _PROGRAMS:
        lair.set(key, lair.program(key))
    for key, value in _TOOLS.items():
        lair.set(key, value)
    lair.set("submodule.x.update", f"!{lair.program('submodule.x.update')}")
    lair.set("credential.helper", f"!{lair.program('credential.helper')}")


def _aliases(lair: Lair) -> None:
    for command in _COMMANDS:
        lair.set(f"alias.{command}", f"!{lair.program(f'alias.{command}')}")
        lair.set(f"pager.{command}", lair.program(f"pager.{command}"))


def _drivers(lair: Lair) -> None:
    lair.write({".git/info/attributes": "* diff=evil merge=evil\n"})
    for key in ("diff.evil.command", "diff.evil.textconv", "merge.evil.driver"):
        lair.set(key, lair.program(key))
    lair.set("diff.evil.cachetextconv", "true")


def _filters(lair: Lair) -> None:
    lair.write({".gitattributes": "* filter=lfs\na.txt filter=evil\nb.txt filter=evil.Process\n"})
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.Process.process", "filter.lfs.clean"):
        lair.set(key, lair.program(key))
    for name in ("evil", "evil.Process", "lfs"):
        lair.set(f"filter.{name}.required", "true")


def _signing(lair: Lair) -> None:
    signed = lair.git("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n", 1
    )
    lair.write({".git/signed": signed})
    made = lair.git("hash-object", "-t", "commit", "-w", ".git/signed").strip()
    lair.git("reset", "--quiet", made)
    for key in (
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gpg.ssh.defaultKeyCommand",
    ):
        lair.set(key, lair.program(key))
    for key in ("commit.gpgSign", "log.showSignature", "merge.verifySignatures", "tag.gpgSign"):
        lair.set(key, "true")


def _config_hooks(lair: Lair) -> None:
    for event in _HOOKS:
        lair.set(f"hook.evil-{event}.event", event)
        lair.set(f"hook.evil-{event}.command", lair.program(f"hook {event}"))


def _hook_files(lair: Lair) -> None:
    lair.hooks(lair.root / ".git" / "hooks", "hooks")


def _hooks_path(lair: Lair) -> None:
    lair.hooks(lair.root / ".husky", "hooksPath")
    lair.set("core.hooksPath", ".husky")


def _includes(lair: Lair) -> None:
    for number, key in enumerate(("include.path", "includeIf.gitdir:**.path", "includeIf.onbranch:**.path")):
        program = lair.program(key)
        lair.write(
            {
                f".git/included-{number}": f"[core]\n fsmonitor = {program}\n pager = {program}\n"
                f'[diff]\n external = {program}\n[diff "evil"]\n textconv = {program}\n'
                f'[hook "h{number}"]\n event = pre-commit\n command = {program}\n'
            }
        )
        lair.set(key, f"included-{number}")


def _worktree_config(lair: Lair) -> None:
    lair.set("core.repositoryFormatVersion", "1")
    lair.set("extensions.worktreeConfig", "true")
    elsewhere = lair.root.parent / "elsewhere"
    elsewhere.mkdir()
    lair.write(
        {".git/config.worktree": f"[core]\n fsmonitor = {lair.program('config.worktree')}\n worktree = {elsewhere}\n"}
    )


def _transports(lair: Lair) -> None:
    blob = lair.git("rev-parse", "feature:a.txt").strip()
    (lair.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    lair.set("core.repositoryFormatVersion", "1")
    lair.set("extensions.partialClone", "evil")
    lair.set("remote.evil.promisor", "true")
    lair.set("remote.evil.url", f"ext::{lair.program('ext transport')}")
    lair.set("remote.evil.uploadpack", lair.program("promisor's uploadpack"))
    for key in ("protocol.allow", "protocol.ext.allow"):
        lair.set(key, "always")


def _submodule(lair: Lair) -> None:
    inner = lair.root / "inner"
    lair.git("init", "--quiet", "inner")
    (inner / "x.txt").write_text("x\n")
    inside = ("-C", "inner", "-c", "user.name=A", "-c", "user.email=a@example.org")
    lair.git(*inside, "add", "x.txt")
    lair.git(*inside, "commit", "--quiet", "--message", "Inner")
    lair.write({".gitmodules": '[submodule "inner"]\n path = inner\n url = ./inner\n ignore = none\n'})
    lair.commit("With a submodule", {})
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    (inner / "x.txt").write_text("y\n")
    keys = ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.external", "diff.evil.textconv")
    for key in keys:
        lair.git("config", "--file", "inner/.git/config", key, lair.program(f"submodule's {key}"))
    lair.hooks(inner / ".git" / "hooks", "submodule's")
    lair.set("submodule.recurse", "true")
    lair.set("diff.ignoreSubmodules", "none")
    lair.set("diff.submodule", "diff")


def _submodule_of_the_index(lair: Lair) -> None:
    _submodule(lair)
    (lair.root / ".gitmodules").unlink()


def _variables(lair: Lair) -> Mapping[str, str]:
    programs = {name: lair.program(name) for name in _VARIABLES}
    return programs | {
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": lair.program("GIT_CONFIG_VALUE_0"),
        "GIT_CONFIG_PARAMETERS": f"'core.pager={lair.program('GIT_CONFIG_PARAMETERS')}'",
        "GIT_TEMPLATE_DIR": str(lair.root),
        "GIT_EXEC_PATH": "/nowhere",
    }


def _log_link(lair: Lair) -> None:
    start_up = lair.root.parent / "start-up"
    start_up.write_text("")
    log = lair.root / ".git" / "logs" / "HEAD"
    log.unlink()
    log.symlink_to(start_up)
    lair.set("user.name", f"x; {lair.program('start-up file')} #")


TOOLS = frozenset(
    {"git_status", "git_diff", "git_log", "git_show", "git_blame", "git_list_branches"}
    | {"git_branch", "git_commit", "git_checkout"}
)
KINDS = (
    Kind("keys that name programs", _programs),
    Kind("aliases and pagers", _aliases),
    Kind("diff and merge drivers", _drivers),
    Kind("content filters", _filters, frozenset({"git_commit", "git_checkout"})),
    Kind("signing and signature checks", _signing, frozenset({"git_commit", "git_checkout"})),
    Kind("hooks in .git/hooks", _hook_files),
    Kind("hooks in a folder of the work tree", _hooks_path),
    Kind("hooks in the configuration (git 2.54)", _config_hooks),
    Kind("included configuration", _includes),
    Kind("configuration of one work tree", _worktree_config),
    Kind("partial clone with a hostile remote", _transports, frozenset({"git_checkout", "git_diff"})),
    Kind("submodule with a configuration of its own", _submodule),
    Kind("submodule that only the index describes", _submodule_of_the_index),
    Kind("variables of the environment", lambda lair: None, environ=_variables),
    Kind("a log that links to a start-up file", _log_link, TOOLS),
)
