"""Every ``marvin/*`` method: who calls it, and what goes in and comes out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from marvin_server.protocol import catalog, config, jobs, patches, permissions, prompt, sessions, status, turns
from marvin_server.protocol.base import Done, NoParams

Direction = Literal["toServer", "toClient"]


class Method(Struct, frozen=True):
    """``params`` and ``result`` are types of this package; without a result it is a notification."""

    direction: Direction
    params: type[Struct]
    result: type[Struct] | None

    @property
    def kind(self) -> Literal["request", "notification"]:
        """What JSON-RPC calls it."""
        return "request" if self.result else "notification"


def _to_server(params: type[Struct], result: type[Struct]) -> Method:
    return Method("toServer", params, result)


def _to_client(params: type[Struct], result: type[Struct] | None = None) -> Method:
    return Method("toClient", params, result)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "marvin/session/new": _to_server(sessions.SessionNewParams, sessions.SessionResult),
        "marvin/session/list": _to_server(sessions.SessionListParams, sessions.SessionListResult),
        "marvin/session/load": _to_server(sessions.SessionLoadParams, sessions.SessionLoadResult),
        "marvin/session/fork": _to_server(sessions.SessionForkParams, sessions.SessionResult),
        "marvin/session/update": _to_server(sessions.SessionUpdateParams, sessions.SessionResult),
        "marvin/session/delete": _to_server(sessions.SessionDeleteParams, Done),
        "marvin/session/compact": _to_server(sessions.SessionCompactParams, sessions.SessionCompactResult),
        "marvin/session/changed": _to_client(sessions.SessionChangedParams),
        "marvin/session/deleted": _to_client(sessions.SessionDeletedParams),
        "marvin/turn/start": _to_server(turns.TurnStartParams, turns.TurnStartResult),
        "marvin/turn/cancel": _to_server(turns.TurnCancelParams, Done),
        "marvin/turn/undo": _to_server(turns.TakeBackParams, turns.TakeBackResult),
        "marvin/turn/redo": _to_server(turns.TakeBackParams, turns.TakeBackResult),
        "marvin/turn/events": _to_client(turns.TurnEventsParams),
        "marvin/permission/answer": _to_server(permissions.PermissionAnswerParams, permissions.PermissionAnswerResult),
        "marvin/patch/resolve": _to_server(patches.PatchResolveParams, patches.PatchResolveResult),
        "marvin/document/save": _to_client(patches.DocumentSaveParams, patches.DocumentSaveResult),
        "marvin/config/get": _to_server(config.ConfigGetParams, config.ConfigResult),
        "marvin/config/set": _to_server(config.ConfigSetParams, config.ConfigResult),
        "marvin/context/get": _to_server(prompt.ContextGetParams, prompt.ContextResult),
        "marvin/context/set": _to_server(prompt.ContextSetParams, prompt.ContextResult),
        "marvin/models/list": _to_server(catalog.ModelsListParams, catalog.ModelsListResult),
        "marvin/command/list": _to_server(catalog.CommandListParams, catalog.CommandListResult),
        "marvin/complete": _to_server(catalog.CompleteParams, catalog.CompleteResult),
        "marvin/usage/get": _to_server(status.UsageGetParams, status.UsageGetResult),
        "marvin/status": _to_server(NoParams, status.StatusResult),
        "marvin/status/changed": _to_client(status.StatusChangedParams),
        "marvin/job/list": _to_server(NoParams, jobs.JobsResult),
        "marvin/job/cancel": _to_server(jobs.JobCancelParams, jobs.JobsResult),
        "marvin/job/changed": _to_client(jobs.JobChangedParams),
        "marvin/oneShot": _to_server(turns.OneShotParams, turns.OneShotResult),
    }
)
