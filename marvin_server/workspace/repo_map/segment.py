"""What is found in some files of a workspace, as one value that is made, sent and kept as a whole."""

import os
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from marvin_server.workspace.repo_map.scan import Facts
from marvin_server.workspace.repo_map.survey import Stamp
from marvin_server.workspace.repo_map.terms import Terms, terms
from marvin_server.workspace.repo_map.words import names


class Segment(Struct, frozen=True, array_like=True, dict=True):
    """Files go by their number here. ``paths`` has a NUL behind each, ``stamps`` three numbers of 64 bits for each,
    ``lengths`` how many names each has (32 bits). ``has`` are the names in the texts of the files, ``defines`` those
    that are defined there, ``called`` those in the paths."""

    paths: bytes
    stamps: bytes
    lengths: bytes
    has: Terms
    defines: Terms
    called: Terms

    @cached_property
    def files(self) -> list[tuple[str, Stamp]]:
        """The paths of the files, and how each was when it was scanned."""
        stamps = memoryview(self.stamps).cast("q")
        paths = os.fsdecode(self.paths).split("\0")[:-1]
        return list(zip(paths, zip(stamps[::3], stamps[1::3], stamps[2::3], strict=True), strict=True))

    @cached_property
    def sizes(self) -> Sequence[int]:
        """How many names each file has."""
        return memoryview(self.lengths).cast("I")


def segment(files: Iterable[tuple[str, Stamp, Facts]]) -> Segment:
    """What is found in ``files``, of which there are 65,536 at most."""
    paths: list[str] = []
    stamps: list[Stamp] = []
    lengths = array("I")
    has, defines, called = (defaultdict[bytes, list[int]](list) for _ in range(3))
    for number, (path, stamp, facts) in enumerate(files):
        paths.append(f"{path}\0")
        stamps.append(stamp)
        lengths.append(len(facts.names))
        path_names = names(path.encode("utf-8", "replace"))
        for inverted, found in ((has, facts.names), (defines, facts.defines), (called, path_names)):
            for name in found:
                inverted[name].append(number)
    return Segment(
        os.fsencode("".join(paths)),
        array("q", chain.from_iterable(stamps)).tobytes(),
        lengths.tobytes(),
        terms(has),
        terms(defines),
        terms(called),
    )
