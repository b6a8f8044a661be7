"""``marvin/config/…``: what a person may change of a session, or of those that begin later."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.lsp import opening
from marvin_server.lsp.live import LiveSession
from marvin_server.protocol import config as protocol
from marvin_server.protocol.config import ConfigGetParams, ConfigResult, ConfigSetParams, Option
from marvin_server.protocol.reading import read
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.providers.base import Provider
    from marvin_server.providers.selection import Choice
    from marvin_server.session import options
    from marvin_server.session.options import Value


async def get(server: "Server", params: dict[str, Any]) -> ConfigResult:
    """The options of a session, or without one those that hold for new ones."""
    asked = read(params, ConfigGetParams)
    if asked.session_id is None:
        return await _told(server, server.sessions.settings, None)
    record = server.sessions.record(asked.session_id)
    live = server.sessions.find(record.id)
    return await _told(server, live.settings if live else server.sessions.settings, live)


async def set_(server: "Server", params: dict[str, Any]) -> ConfigResult:
    """Give an option another value: a mode holds at once, all else from the next turn on. Whatever is wrong with it,
    the option stays as it is."""
    asked = read(params, ConfigSetParams)
    if asked.session_id is None:
        sessions = server.sessions
        async with sessions.lock:
            answering = await _answering(server, sessions.settings, None)
            sessions.settings, _ = await _changed(server, sessions.settings, answering, asked.name, asked.value)
            return await _told(server, sessions.settings, None)
    live = server.sessions.get(asked.session_id)
    async with live.lock:
        await change(server, live, asked.name, asked.value)
        return await _told(server, live.settings, live)


async def options_of(server: "Server", live: LiveSession) -> "Sequence[options.Option]":
    """The options of the session as they stand."""
    from marvin_server.session import options

    return options.options(live.settings, await _answering(server, live.settings, live))


async def change(server: "Server", live: LiveSession, name: str, value: object) -> None:
    """Give an option of the session another value and tell the client; whoever asks holds its lock.

    Raises ``UsageError``, and ``Auth`` where a key is missing, with nothing changed.
    """
    answering = await _answering(server, live.settings, live)
    settings, choice = await _changed(server, live.settings, answering, name, value)
    live.go_on_with(settings, choice)
    server.standing.tell_session(live.id)


async def _changed(
    server: "Server", settings: Settings, answering: "Provider | None", name: str, value: object
) -> "tuple[Settings, Choice | None]":
    """The other settings, and who answers then where that is somebody else."""
    from marvin_server.session import options

    changed = options.changed(settings, answering, name, value)
    is_another = (changed.provider, changed.model) != (settings.provider, settings.model)
    return changed, await opening.choose(changed) if is_another else None


async def _answering(server: "Server", settings: Settings, live: LiveSession | None) -> "Provider | None":
    """Who answers now, None while nobody can."""
    if live is not None and live.choice is not None:
        return live.choice.provider
    with suppress(MarvinError):
        return (await opening.choose(settings)).provider
    return None


async def _told(server: "Server", settings: Settings, live: LiveSession | None) -> ConfigResult:
    from marvin_server.session import options

    told = options.options(settings, await _answering(server, settings, live))
    return ConfigResult(tuple(Option(each.name, each.title, each.value, _choices(each.values)) for each in told))


def _choices(values: "Sequence[Value]") -> "tuple[protocol.Choice, ...]":
    return tuple(protocol.Choice(each.value, each.value, each.meaning) for each in values)
