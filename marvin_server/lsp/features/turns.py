"""``marvin/turn/…``: start a turn and cancel one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from marvin_server.lsp import context, uris
from marvin_server.lsp.context import Sources
from marvin_server.lsp.features.commands import run as run_command
from marvin_server.lsp.refusals import Refusal
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
    what came of it. The same ``clientTurnId`` is answered the same.

    Nothing is awaited once the turn has begun, so that the answer is written before its first event.
    """
    from marvin_server.session import commands

    asked = read(params, TurnStartParams)
    prompt = "\n\n".join(part.text for part in asked.input if isinstance(part, TextInput))
    if not prompt.strip():
        raise Refusal(Code.INVALID_PARAMS, "the input has no text: say what to do")
    images = tuple(context.image(part) for part in asked.input if isinstance(part, ImageInput))
    live = server.sessions.get(asked.session_id)
    async with live.lock:
        key = asked.client_turn_id
        if key is not None and key in live.turns:
            return live.turns[key]
        if typed := commands.read(prompt):
            told = TurnStartResult(await run_command(server, live, typed), "running")
        else:
            session = await server.opened(live)
            added, pictures = await context.described(asked.context, _sources(server, live))
            running = session.running
            if running is not None and asked.when_busy == "reject":
                text = "a turn is running: wait for it, cancel it or queue this"
                raise Refusal(Code.TURN_ACTIVE, text, retryable=True)
            whole = f"{prompt}\n\n{added}" if added else prompt
            turn_id = session.submit(whole, asked.when_busy, (*images, *pictures))
            state: State = "steered" if turn_id == running else "running" if turn_id == session.running else "queued"
            told = TurnStartResult(turn_id, state)
        if key is not None:
            live.turns[key] = told
            while len(live.turns) > _REMEMBERED:
                del live.turns[next(iter(live.turns))]
        return told


async def cancel(server: "Server", params: dict[str, Any]) -> Done:
    """Cancel the running turn, or the one that is named, running or queued, or drop the draft of that name; without one
    nothing happens."""
    asked = read(params, TurnCancelParams)
    live = server.sessions.find(asked.session_id)
    if live is None:
        server.sessions.record(asked.session_id)
    else:
        async with live.lock:
            if live.opened is not None and live.opened.session.cancel(asked.turn_id):
                return Done()
    drafts = server.sessions.store.drafts
    if asked.turn_id in {draft.id for draft in drafts.left(asked.session_id)}:
        drafts.drop(asked.turn_id)
    return Done()


def _sources(server: "Server", live: "LiveSession") -> Sources:
    """What may be added to a prompt of ``live``, which is open."""
    folder = Path(server.sessions.record(live.id).cwd)

    async def diff(path: str | None, staged: bool) -> str:
        from marvin_server.workspace import git, git_repository

        assert live.opened is not None
        environ = live.settings.child_environ()
        repository = await git_repository.opened(live.opened.processes, folder, ".", environ, lambda _: False)
        return await git.diff(repository, staged=staged, path=path, revision=None if staged else "HEAD")

    others = [Path(path) for uri in server.client.folders if (path := uris.real_path(uri))]
    return Sources(server.documents, folder, others, diff)
