"""What is confined when a command runs in the operating system's sandbox, who can do that, and what works here."""

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Protocol

from msgspec import Struct


class Confinement(Struct, frozen=True):
    """What a command may do. All paths are absolute and real.

    It may write beneath ``roots`` and ``private``, a folder of the session's own with the folders ``tmp`` and
    ``cache`` and the empty file ``empty``. It may read everything but what is ``hidden`` (existing files and folders),
    and nothing in ``/tmp`` and ``/run`` that is not its own. What is ``fixed`` (existing) stays read-only beneath the
    roots too. Without ``network`` it reaches nobody.
    """

    roots: tuple[str, ...]
    private: str
    hidden: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    network: bool = False

    @property
    def tmp(self) -> str:
        return f"{self.private}/tmp"  # noqa: S108

    @property
    def cache(self) -> str:
        return f"{self.private}/cache"

    @property
    def empty(self) -> str:
        return f"{self.private}/empty"


class Directory(Struct, frozen=True):
    """A working directory: its real path, and ``st_dev:st_ino``, by which it is known to be the one that was meant."""

    path: str
    identity: str


class Wrapped(Struct, frozen=True):
    """The command line that runs a command confined, in the same environment, with the descriptors ``pass_fds``.

    With ``has_leader`` its process is not the command's own: it tells a signal that ended the command as the exit code
    128 + n, and all the rest is killed when it ends. ``variables`` are set for the command.
    """

    argv: Sequence[str]
    variables: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    has_leader: bool = False


class Sandbox(Protocol):
    """One way to confine a command."""

    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> tuple[str, ...]:
        """What it cannot keep of a ``Confinement``, each a few words that follow "it does not"."""
        ...

    @property
    def refusal(self) -> re.Pattern[str]:
        """What commands print when they were kept from writing."""
        ...

    def wrap(
        self, argv: Sequence[str], directory: Directory, confinement: Confinement
    ) -> AbstractContextManager[Wrapped]:
        """The command line for ``argv`` in ``directory``; what it needs is there as long as the context."""
        ...


class Search(Struct, frozen=True):
    """Which sandbox works here, and for those that would have come before it, why they do not."""

    sandbox: Sandbox | None
    problems: tuple[str, ...]


def best_sandbox(environ: Mapping[str, str]) -> Search:
    """The strongest sandbox that works here; each is tried once per process, which takes some milliseconds."""
    return _search(environ.get("PATH", ""))


@cache
def _search(path: str) -> Search:
    problems: list[str] = []
    for probe in _probes():
        found = probe(path)
        if not isinstance(found, str):
            return Search(found, tuple(problems))
        problems.append(found)
    return Search(None, tuple(problems))


class _Probe(Protocol):
    def __call__(self, path: str, /) -> Sandbox | str:
        """A sandbox that has been seen to work with programs on ``path``, else why there is none."""
        ...


def _probes() -> tuple[_Probe, ...]:
    if sys.platform == "linux":
        from marvin_server.workspace import bubblewrap, landlock

        return bubblewrap.probe, landlock.probe
    if sys.platform == "darwin":
        from marvin_server.workspace import seatbelt

        return (seatbelt.probe,)
    return (lambda _: f"there is no sandbox for {sys.platform}",)
