"""How git is started so that no repository, however hostile, can make it run a program."""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from marvin_server.errors import ToolError

# Every key of git-config(1), up to git 2.55, that names a program which one of our commands could come to run.
_SETTINGS = (
    "commit.gpgSign=false",
    "core.alternateRefsCommand=false",
    "core.askPass=false",
    "core.editor=false",
    "core.fsmonitor=",
    "core.gitProxy=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.quotePath=false",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=all",
    "gc.auto=0",
    "gc.recentObjectsHook=",
    "gpg.openpgp.program=false",
    "gpg.program=false",
    "gpg.ssh.defaultKeyCommand=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "interactive.diffFilter=",
    "log.showRoot=true",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "sequence.editor=false",
    "status.submoduleSummary=false",
    "submodule.recurse=false",
    "user.useConfigOnly=true",
)
_NAMED = {
    "filter": ("clean=", "smudge=", "process=", "required=false"),
    "hook": ("enabled=false",),
    "submodule": ("ignore=all",),
}
_ENVIRON = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LANGUAGE": "",
    "LC_ALL": "C.UTF-8",
}


def options(keys: Iterable[str]) -> list[str]:
    """git's options that empty every setting that names a program, whatever any configuration says.

    ``keys`` are those of the configuration and of ``.gitmodules``: sections under a name of the repository's choice
    (content filters, the hooks of git 2.54, submodules, in which git would start another git) are emptied one by one.
    Raises ToolError when a name cannot be given to git.
    """
    names = sorted({key.rpartition(".")[0] for key in keys if key.partition(".")[0] in _NAMED})
    if any("=" in name or "\n" in name for name in names):
        raise ToolError(
            "This repository configures filters, hooks or submodules that cannot be switched off; git is not run."
        )
    named = (f"{name}.{setting}" for name in names if "." in name for setting in _NAMED[name.partition(".")[0]])
    return ["--no-pager", "--no-optional-locks", *(part for each in (*_SETTINGS, *named) for part in ("-c", each))]


def variables(environ: Mapping[str, str], worktree: Path) -> dict[str, str]:
    """``environ`` without GIT_* variables and relative folders of PATH, and with what keeps git in ``worktree``, off
    the network and in English."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    folders = [folder for folder in kept.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    here = {"GIT_WORK_TREE": str(worktree), "GIT_CEILING_DIRECTORIES": str(worktree.parent)}
    return {**kept, "PATH": os.pathsep.join(folders), **_ENVIRON, **here}


def program(environ: Mapping[str, str]) -> str:
    """The path of git, or its name where there is none."""
    return shutil.which("git", path=environ["PATH"]) or "git"
