"""``marvin/turn/…``: start a turn and cancel one."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from marvin_server.lsp import context, opening, sources
from marvin_server.lsp.features import commands as own_commands
from marvin_server.lsp.refusals import Refusal
from marvin_server.messages import new_id, user_message
from marvin_server.protocol.base import Done
from marvin_server.protocol.context import ImageInput, TextInput
from marvin_server.protocol.errors import Code
from marvin_server.protocol.reading import read
from marvin_server.protocol.turns import State, TurnCancelParams, TurnStartParams, TurnStartResult

if TYPE_CHECKING:
    from marvin_server.lsp.live import LiveSession
    from marvin_server.lsp.server import Server

_REMEMBERED = 256


async def start(server: "Server", params: dict[str, Any]) -> TurnStartResult:
    """Start a turn, or queue the prompt, or hand it to the running one; a command is carried out, and its turn says
    what came of it. The same ``clientTurnId`` starts one turn only, in whichever run of the server.

    The open documents that it names are read before anything is awaited, as they were when it was sent. Nothing is
    awaited once the turn has begun, so that the answer is written before its first event.
    """
    from marvin_server.session import commands

    asked = read(params, TurnStartParams)
    prompt = "\n\n".join(part.text for part in asked.input if isinstance(part, TextInput))
    shown = [part for part in asked.input if isinstance(part, ImageInput)]
    if not prompt.strip() and not shown:
        raise Refusal(Code.INVALID_PARAMS, "the input has no text and no picture: say what to do")
    live = server.sessions.get(asked.session_id)
    key, cancels = asked.client_turn_id, live.cancels
    message_id = new_id() if key is None else _message_id(live, key, prompt, shown)
    if known := _known(server, live, key, message_id):
        return known
    typed = commands.read(prompt)
    added, pictures = await context.added(() if typed else asked.context, sources.of(server, live))
    images = await context.pictures(shown)
    said = await own_commands.prompt(server, live, prompt) if typed is None else prompt
    message = replace(user_message(said, (*images, *pictures), added), id=message_id)
    async with live.commands if typed else live.lock:
        if known := _known(server, live, key, message_id):
            return known
        if typed:
            told = TurnStartResult(await own_commands.run(server, live, typed), "running")
        else:
            session = await opening.ready(server, live)
            running = session.running
            if running is not None and asked.when_busy == "reject":
                text = "a turn is running: wait for it, cancel it or queue this"
                raise Refusal(Code.TURN_ACTIVE, text, retryable=True)
            turn_id = session.submit(message, asked.when_busy)
            state: State = "steered" if turn_id == running else "running" if turn_id == session.running else "queued"
            told = TurnStartResult(turn_id, state)
            if state == "running" and live.cancels != cancels:
                session.cancel(turn_id)
        if key is not None:
            live.turns[key] = told
            while len(live.turns) > _REMEMBERED:
                del live.turns[next(iter(live.turns))]
        return told


def _known(server: "Server", live: "LiveSession", key: str | None, message_id: str) -> TurnStartResult | None:
    """What was answered to this ``clientTurnId``; of a server that has ended, which turn the message was for."""
    if key is None or key in live.turns:
        return live.turns.get(key or "")
    turn_id = server.sessions.store.catalogue.turn_of(message_id)
    if turn_id is None:
        return None
    is_running = turn_id == live.running or server.sessions.store.leases.is_elsewhere(live.id)
    return TurnStartResult(turn_id, "running" if is_running else "finished")


def _message_id(live: "LiveSession", key: str, prompt: str, pictures: Iterable[ImageInput]) -> str:
    """The same for the same prompt with the same ``clientTurnId``, so that the store has it once. Another prompt is
    another one, in case that a client begins to count anew."""
    said = "\0".join((live.id, key, prompt, *(picture.data for picture in pictures))).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()[: len(live.id)]


async def cancel(server: "Server", params: dict[str, Any]) -> Done:
    """Cancel the running turn, or the one that is named, running here or queued in whichever process, or drop the draft
    of that name; where none runs, the one that is about to begin. It waits for nothing."""
    asked = read(params, TurnCancelParams)
    live = server.sessions.find(asked.session_id)
    if live is None:
        server.sessions.record(asked.session_id)
    elif live.opened is not None and live.opened.session.cancel(asked.turn_id):
        return Done()
    elif asked.turn_id is None:
        live.cancels += 1
    drafts = server.sessions.store.drafts
    waiting = {queued.turn_id: queued.message.id for queued in drafts.queued(asked.session_id)}
    waiting |= {draft.id: draft.id for draft in drafts.left(asked.session_id)}
    if asked.turn_id in waiting:
        drafts.drop(waiting[asked.turn_id])
        server.standing.tell_session(asked.session_id)
    return Done()
