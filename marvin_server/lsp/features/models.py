"""``marvin/models/list``: the providers, whether each is ready, and the models that it offers."""

import asyncio
from typing import TYPE_CHECKING, Any

from marvin_server.errors import MarvinError
from marvin_server.protocol.catalog import Model, ModelsListParams, ModelsListResult, Provider
from marvin_server.protocol.reading import read
from marvin_server.settings import Settings

if TYPE_CHECKING:
    from marvin_server.lsp.server import Server
    from marvin_server.session.offers import OfferedModel


async def list_(server: "Server", params: dict[str, Any]) -> ModelsListResult:
    """Every provider, or one. With ``refresh`` each is asked for its models now; ``problem`` says where that failed."""
    from marvin_server.providers import selection

    asked = read(params, ModelsListParams)
    settings = server.sessions.settings
    names = [asked.provider] if asked.provider else list(selection.names(settings))
    rows = await asyncio.gather(*(_provider(name, settings, asked) for name in names))
    return ModelsListResult(tuple(rows))


async def _provider(name: str, settings: Settings, asked: ModelsListParams) -> Provider:
    problem = await _refreshed(name, settings) if asked.refresh else None
    return await asyncio.to_thread(_told, name, settings, problem, asked.provider is not None)


async def _refreshed(name: str, settings: Settings) -> str | None:
    from marvin_server.providers import model_list, selection, vendors

    if name in selection.OTHERS:
        return None
    try:
        await model_list.refresh(await asyncio.to_thread(vendors.load, name, settings, selection.OTHERS), settings)
    except MarvinError as error:
        return str(error)
    return None


def _told(name: str, settings: Settings, problem: str | None, asked_for: bool) -> Provider:
    from marvin_server.session.offers import offer

    found = offer(name, settings, asked_for=asked_for)
    offered = {each.name: _model(each) for each in (*filter(None, [found.own]), *found.listed)}
    state = found.state
    status = "ready" if state.ready else "unavailable"
    return Provider(name, status, tuple(offered.values()), state.text, state.advice, problem or found.problem)


def _model(offered: "OfferedModel") -> Model:
    known = offered.facts
    return Model(offered.name, known.context, known.tools, known.images, known.thinking)
