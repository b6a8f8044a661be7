"""The map in the prompts of a real session."""

import asyncio
from pathlib import Path

from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS
from tests.processes import processes_with
from tests.session.turns import Opener, finish, turn

KAYAK = "class Kayak:\n    def paddle(self): ...\n"
SHOWN = "boats.py\n     1: class Kayak\n     2:   def paddle(self): ..."


async def test_the_map_goes_with_the_prompt_and_stays_the_same_within_a_turn(opener: Opener, workspace: Path) -> None:
    (workspace / "boats.py").write_text(KAYAK)
    create = call("create_file", '{"path": "more.py", "content": "class Kayaks: ..."}')
    provider = Scripted([create], ["Done."], ["Again."])
    opened = opener(provider, repo_map="auto", approve="all")
    events = opened.session.subscribe()
    for prompt in ("Who paddles the kayak?", "And who else, of the kayaks?"):
        opened.session.submit(prompt)
        await finish(events)
    first, second, third = (request.system for request in provider.requests)
    assert SHOWN in first
    assert first == second
    assert "more.py" not in second
    assert "more.py" in third


async def test_without_the_setting_no_map_is_made(opener: Opener, workspace: Path, tmp_path: Path) -> None:
    (workspace / "boats.py").write_text(KAYAK)
    provider = Scripted(["Done."])
    opened = opener(provider)
    await turn(opened, "Who paddles the kayak?")
    assert "Kayak" not in provider.requests[0].system
    assert not (tmp_path / "home" / "cache" / "maps").exists()


async def test_a_map_that_is_still_made_ends_with_the_session(opener: Opener, workspace: Path) -> None:
    text = "\n".join(f"def made_{number}() -> int: ..." for number in range(2000))
    for number in range(1500):
        (workspace / f"f{number}.py").write_text(text)
    opened = opener(Scripted(["Done."]), repo_map="auto")
    opened.session.submit("Who paddles the kayak?")
    async with asyncio.timeout(SECONDS):
        while not await asyncio.to_thread(processes_with, str(workspace)):
            pass
    await opened.session.close()
    assert processes_with(str(workspace)) == []
