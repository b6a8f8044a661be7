"""Whatever a person types, and Marvin edits, takes back and undoes: each line that the person wrote stays."""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from marvin_server import settings
from marvin_server.errors import MarvinError
from marvin_server.events import Rejection, TurnFinished
from marvin_server.providers.selection import Choice
from marvin_server.session.opening import open_session
from marvin_server.session.session import Session
from marvin_server.session.store import Store
from tests.agent.scripted import Scripted, call
from tests.patience import SECONDS
from tests.session.memory_editor import MemoryEditor

LINES = [f"line {number}" for number in range(6)]
NUMBERS = st.integers(0, 9)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("type"), NUMBERS),
        st.tuples(st.just("type meanwhile"), NUMBERS),
        st.tuples(st.just("insert"), NUMBERS),
        st.tuples(st.just("replace"), NUMBERS),
        st.tuples(st.sampled_from(["reject", "keep"]), NUMBERS),
        st.tuples(st.sampled_from(["undo", "redo", "save", "close", "open"]), NUMBERS),
    ),
    max_size=12,
)


class Desk:
    """A person and Marvin at work in one file."""

    def __init__(self, folder: Path, actions: list[tuple[str, int]]) -> None:
        (folder / "w").mkdir()
        self.file = folder / "w" / "a.txt"
        self.file.write_text("".join(f"{line}\n" for line in LINES))
        self.editor = MemoryEditor()
        self.editor.open(self.file)
        self.is_open = True
        self.typed: list[str] = []
        self.count = 0
        self.provider = Scripted()
        self._store = Store.open(folder / "db")
        environ = {"MARVIN_HOME": str(folder / "home"), "PATH": os.environ["PATH"], "HOME": str(folder)}
        opened = open_session(
            settings.load({"sandbox": "off"}, environ),
            Choice(self.provider, free=True),
            self._store,
            folder / "w",
            rounds=50,
            editor=self.editor,
            can_review=True,
        )
        self.session: Session = opened.session
        self._actions = actions

    async def play(self) -> None:
        for action, number in self._actions:
            await self._act(action, number)
            assert [line for line in self.typed if line not in self._text().splitlines()] == []
        await self.session.close()
        self._store.close()

    def _text(self) -> str:
        return self.editor.text(self.file) if self.is_open else self.file.read_text()

    def _type(self, number: int) -> None:
        self.typed.append(f"typed {len(self.typed)}")
        lines = self._text().splitlines(keepends=True)
        lines.insert(number % (len(lines) + 1), f"{self.typed[-1]}\n")
        if self.is_open:
            self.editor.type(self.file, "".join(lines))
        else:
            self.file.write_text("".join(lines))

    async def _act(self, action: str, number: int) -> None:
        match action:
            case "type":
                self._type(number)
            case "type meanwhile" if self.is_open:
                self.editor.meanwhile.append(lambda: self._type(number))
            case "insert" | "replace":
                await self._edit(number, replaces=action == "replace")
            case "reject" | "keep":
                for patch in self.session.patches.pending[number % 3 :][:1]:
                    ids = [hunk.id for edit in patch.edits for hunk in edit.hunks]
                    rejected = [Rejection(name) for name in ids] if action == "reject" else []
                    await self.session.resolve(patch.id, () if rejected else "all", rejected)
            case "undo" | "redo":
                with suppress(MarvinError):
                    await (self.session.undo() if action == "undo" else self.session.redo())
            case "save" | "close" if self.is_open:
                self.editor.meanwhile.clear()
                self.editor.save_as_person(self.file)
                if action == "close":
                    self.editor.close(self.file)
                    self.is_open = False
            case "open" if not self.is_open:
                self.editor.open(self.file)
                self.is_open = True
            case _:
                pass

    async def _edit(self, number: int, *, replaces: bool) -> None:
        own = [line for line in self._text().splitlines() if line not in self.typed]
        if not own:
            return
        self.count += 1
        old = own[number % len(own)]
        new = f"marvin {self.count}\n" if replaces else f"{old}\nmarvin {self.count}\n"
        arguments = {"path": "a.txt", "old_str": f"{old}\n", "new_str": new}
        self.provider.add([call("apply_patch", json.dumps(arguments))], ["Done."])
        subscription = self.session.subscribe()
        self.session.submit("Go on")
        async for _, event in subscription:
            if isinstance(event, TurnFinished):
                break
        self.session.unsubscribe(subscription)


@hypothesis_settings(max_examples=60, deadline=None)
@given(ACTIONS)
def test_no_line_that_the_person_typed_is_ever_lost(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, int]]
) -> None:
    async def play() -> None:
        async with asyncio.timeout(SECONDS):
            await Desk(tmp_path_factory.mktemp("desk"), actions).play()

    asyncio.run(play())
