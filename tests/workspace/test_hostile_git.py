"""Every git tool on every hostile repository: nothing runs, and what is refused is what has to be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.hostile import Encounter, call, meet, meet_plainly
from tests.workspace.hostile_repositories import KINDS, NAMES, TOOLS, Kind, Lair

_NEVER_SPRUNG = {"aliases and pagers", "hooks in the configuration (git 2.54)"}
_ARGUMENTS: Mapping[str, list[dict[str, Any]]] = {
    "git_diff": [{"revision": "NAME"}, {"path": "NAME"}],
    "git_log": [{"revision": "NAME"}, {"path": "NAME"}],
    "git_show": [{"revision": "NAME"}, {"path": "NAME"}],
    "git_blame": [{"path": "NAME"}, {"path": "a.txt", "revision": "NAME"}],
    "git_commit": [{"message": "NAME", "paths": ["NAME"]}, {"message": "x", "paths": ["NAME", "a.txt"]}],
    "git_checkout": [
        *({"branch": "NAME"}, {"branch": "NAME", "create": True}, {"revision": "NAME"}, {"paths": ["NAME"]}),
        *({"paths": ["a.txt"], "revision": "NAME"}, {"branch": "fresh", "create": True, "revision": "NAME"}),
    ],
    "git_branch": [
        *({"action": "create", "name": "NAME"}, {"action": "delete", "name": "NAME"}),
        {"action": "create", "name": "fresh", "revision": "NAME"},
        *(
            {"action": "rename", "name": "feature", "new_name": "NAME"},
            {"action": "rename", "name": "NAME", "new_name": "x"},
        ),
    ],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_hostile_repository_runs_nothing(kind: Kind, tmp_path: Path):
    met = await meet(kind, tmp_path)
    assert met == Encounter(met.traps, [], kind.refused)
    assert met.traps


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.name not in _NEVER_SPRUNG], ids=lambda kind: kind.name)
def test_plain_git_would_have_run_something(kind: Kind, tmp_path: Path):
    assert meet_plainly(kind, tmp_path)


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_no_option_no_command_and_no_pathspec(name: str, tmp_path: Path):
    lair = Lair(tmp_path)
    lair.write({".env": "KEY=secret\n"})
    before = lair.git("for-each-ref"), lair.head()
    for tool, calls in _ARGUMENTS.items():
        for arguments in calls:
            lair.write({"a.txt": "changed\n"})
            filled = {key: _filled(value, name) for key, value in arguments.items()}
            assert "secret" not in (await call(lair, tool, filled, lair.environ) or "")
    assert (lair.sprung(), (lair.git("for-each-ref"), lair.head())) == ([], before)
    assert lair.status() == " M a.txt\n?? .env\n"


@pytest.mark.parametrize("name", ["-rf", "--output=ran", ";touch ran", "$(touch ran)", ":(top)x", "*", "a\nb", "'q'"])
async def test_a_file_may_be_called_anything(name: str, tmp_path: Path):
    lair = Lair(tmp_path)
    lair.write({name: "old\n"})
    assert await call(lair, "git_commit", {"message": name, "paths": [name]}, lair.environ)
    lair.write({name: "new\n"})
    diff = await call(lair, "git_diff", {"path": name}, lair.environ)
    blame = await call(lair, "git_blame", {"path": name}, lair.environ)
    assert await call(lair, "git_checkout", {"paths": [name]}, lair.environ)
    assert ("-old\n+new\n" in (diff or ""), (blame or "").endswith(" 1: new")) == (True, True)
    assert (lair.read(name), lair.status(), lair.sprung()) == (["old\n"], "", [])


def test_every_git_tool_is_in_the_story_and_in_the_table_of_arguments():
    folder = Path(__file__).parents[2] / "marvin_server" / "tools" / "git"
    tools = {path.stem for path in folder.glob("git_*.py")}
    assert tools == TOOLS == {*_ARGUMENTS, "git_list_branches", "git_status"}


def _filled(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_filled(item, name) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return name if value == "NAME" else value
