"""Which files pass through a content filter (gitattributes(5)) such as git-lfs; filters are programs and never run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from marvin_server.errors import ToolError
from marvin_server.workspace.git_repository import Repository, batches
from marvin_server.workspace.names import printable

_NO_FILTER = frozenset({"unspecified", "unset", "set"})
_SHOWN = 5


async def refuse_to_store(repository: Repository, names: Sequence[str]) -> None:
    """Raise ToolError when a filter applies to one of ``names``, files of the worktree: without the filter's program
    git would record the wrong content."""
    _refuse(await _filtered(repository, names), "recording")


async def refuse_to_write(repository: Repository, names: Sequence[str], tree: str | None) -> None:
    """As ``refuse_to_store``, for files that git is to write: from the index, or from the commit ``tree``, whose own
    attributes count too."""
    found = await _filtered(repository, names) | await _filtered(repository, names, "--cached")
    if tree is not None and names:
        with TemporaryDirectory(prefix="marvin-") as folder:
            index = Path(folder, "index")
            await repository.ask("read-tree", tree, index=index)
            found |= await _filtered(repository, names, "--cached", index=index)
    _refuse(found, "writing")


def _refuse(found: Mapping[str, str], doing: str) -> None:
    if found:
        shown = ", ".join(f"{printable(name)} ({printable(how)})" for name, how in sorted(found.items())[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ToolError(
            f"These files pass through a content filter, a program that is not run here, so {doing} them would go "
            f"wrong: {shown}{more}. Nothing was changed. Leave them out, or use git with run_command."
        )


async def _filtered(
    repository: Repository, names: Sequence[str], *where: str, index: Path | None = None
) -> dict[str, str]:
    """Those of ``names`` that have a filter, with its name."""
    found: dict[str, str] = {}
    for batch in batches(names):
        fields = await repository.names("check-attr", "-z", *where, "filter", "--", *batch, index=index)
        found |= {name: value for name, value in zip(fields[::3], fields[2::3], strict=True) if value not in _NO_FILTER}
    return found
