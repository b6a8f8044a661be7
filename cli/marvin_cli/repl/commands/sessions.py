"""Commands about sessions: find one, go on in it, split it, name it, write it down."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from marvin_cli.repl.commands.base import Action, aligned
from marvin_cli.repl.conversation import sessions
from marvin_cli.view.base import Choice
from marvin_server.errors import MarvinError, NoSession, UsageError
from marvin_server.sanitise import one_line

if TYPE_CHECKING:
    from marvin_cli.repl.loop import Loop
    from marvin_server.session.store import SessionRecord


async def _sessions(loop: "Loop", words: str) -> None:
    found = await _found(loop, words)
    rows = [(each.id, f"{_when(each)}  {each.title or '(untitled)'}") for each in found]
    loop.view.say(aligned(rows) or "Nothing found.", "output")


async def _resume(loop: "Loop", wanted: str) -> None:
    loop.conversation.check_idle()
    try:
        session_id: str | None = loop.conversation.store.find(wanted).id if wanted else None
    except NoSession:
        session_id = None
    if session_id is None:
        found = await _found(loop, wanted)
        if not found:
            raise UsageError(f"there is no session with {wanted!r}" if wanted else "there is no other session yet")
        session_id = await loop.choose("Go on with", [_choice(each) for each in found])
    if session_id is not None and session_id != loop.conversation.session.id:
        await loop.enter_session(session_id)


async def _clear(loop: "Loop", _: str) -> None:
    loop.conversation.check_idle()
    loop.view.clear()
    await loop.enter_session()


async def _fork(loop: "Loop", count: str) -> None:
    """Without a number the new session has all that was said; with one, all before the prompt so many back."""
    conversation = loop.conversation
    conversation.check_idle()
    if count and not (count.isdecimal() and int(count)):
        raise UsageError("/fork takes a number of prompts to go back, such as /fork 1")
    history = await asyncio.to_thread(conversation.store.history, conversation.session.id)
    prompts = [number for number, message in enumerate(history) if message.role == "user"]
    if int(count or 0) > len(prompts) or not history:
        raise UsageError(
            f"there are only {len(prompts)} prompts in this session" if history else "nothing was said yet"
        )
    if not count:
        await loop.enter_session(conversation.store.catalogue.fork(conversation.session.id))
        return
    at = prompts[-int(count)]
    prompt = history[at].text
    if at == 0:
        await loop.enter_session()
    else:
        await loop.enter_session(conversation.store.catalogue.fork(conversation.session.id, history[at - 1].id))
    loop.put_back(prompt)


async def _tree(loop: "Loop", _: str) -> None:
    conversation = loop.conversation
    known = {each.id: each for each in sessions(conversation.store)}
    top = conversation.record
    while top.parent_id in known:
        top = known[top.parent_id]
    loop.view.say("\n".join(_branch(top, list(known.values()), conversation.session.id, 0)), "output")


def _branch(record: "SessionRecord", known: "Sequence[SessionRecord]", here: str, depth: int) -> Iterator[str]:
    mark = "*" if record.id == here else "-"
    yield f"{'  ' * depth}{mark} {record.title or '(untitled)'}  {_when(record)}  {record.id}"
    for child in sorted((each for each in known if each.parent_id == record.id), key=lambda each: each.created_at):
        yield from _branch(child, known, here, depth + 1)


async def _rename(loop: "Loop", title: str) -> None:
    if not title:
        raise UsageError("/rename needs the new title after it")
    loop.conversation.store.catalogue.rename(loop.conversation.session.id, title)
    loop.view.say(f"This session is called {loop.conversation.record.title!r} now", "note")


async def _export(loop: "Loop", name: str) -> None:
    record, store = loop.conversation.record, loop.conversation.store
    path = (loop.conversation.directory / Path(name or f"marvin-{record.id}.md").expanduser()).absolute()

    def write() -> None:
        from marvin_cli import markdown

        with store.beside() as beside:
            if path.suffix == ".json":
                text = json.dumps(beside.export(record.id), indent=2, ensure_ascii=False) + "\n"
            else:
                text = markdown.page(record, beside.history(record.id))
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        raise MarvinError(f"{path}: {error.strerror}") from error
    loop.view.say(f"Written to {path}", "note")


async def _queue(loop: "Loop", wanted: str) -> None:
    """What waits and what was left behind, numbered; ``take N`` puts one into the input line, ``drop N`` forgets it."""
    conversation = loop.conversation
    queued = loop.following.progress.queued
    drafts = {each.id: each.message.text for each in conversation.store.drafts.left(conversation.session.id)}
    waiting = [*queued.items(), *drafts.items()]
    what, _, number = wanted.partition(" ")
    if not wanted:
        rows = [
            (f"{n}. {'waits' if key in queued else 'draft'}", one_line(text, 200))
            for n, (key, text) in enumerate(waiting, 1)
        ]
        loop.view.say(aligned(rows) or "Nothing waits.", "output")
        return
    if what not in ("take", "drop") or not number.isdecimal() or not 0 < int(number) <= len(waiting):
        raise UsageError(
            "/queue shows what waits; /queue take N puts one into the input line, /queue drop N forgets it"
        )
    key, text = waiting[int(number) - 1]
    if key in queued:
        conversation.session.cancel(key)
    else:
        conversation.store.drafts.drop(key)
    if what == "take":
        loop.person.keep(text)
        loop.put_back(text)


async def _found(loop: "Loop", words: str) -> "list[SessionRecord]":
    """The sessions that hold the words, else those of this folder, the latest first."""
    store, cwd = loop.conversation.store, None if words else str(loop.conversation.directory)

    def search() -> "list[SessionRecord]":
        with store.beside() as beside:
            return sessions(beside, cwd, words or None)

    return await asyncio.to_thread(search)


async def _choices(loop: "Loop") -> Sequence[Choice]:
    return [_choice(each) for each in await _found(loop, "")]


def _choice(record: "SessionRecord") -> Choice:
    return Choice(record.id, record.title or "(untitled)", f"{_when(record)}, {record.messages} messages")


def _when(record: "SessionRecord") -> str:
    return record.updated_at[:16].replace("T", " ")


ACTIONS = (
    Action("sessions", "List the sessions of this folder, or all that hold some words", _sessions, "[WORDS]"),
    Action("resume", "Go on in another session", _resume, "[ID|WORDS]", _choices),
    Action("clear", "Begin a new session", _clear),
    Action("fork", "Go on in a copy of this session, from now or from N prompts back", _fork, "[N]"),
    Action("tree", "Show which sessions came from which", _tree),
    Action("rename", "Give this session a title", _rename, "TITLE"),
    Action("export", "Write this session to a Markdown or a .json file", _export, "[FILE]"),
    Action("queue", "Show what waits, take it back or forget it", _queue, "[take N|drop N]"),
)
