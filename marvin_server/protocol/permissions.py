"""``marvin/permission/answer``: the person's answer to a question, which came as an event."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from marvin_server.events import Decision
from marvin_server.protocol.base import FromClient, FromServer
from marvin_server.protocol.wire import camel

WireDecision = Literal["allowOnce", "allowSession", "allowEdited", "deny", "denyAndStop"]
DECISIONS: Mapping[str, Decision] = MappingProxyType({camel(word): word for word in get_args(Decision)})


class PermissionAnswerParams(FromClient, frozen=True):
    """``command`` goes with ``allowEdited`` and nothing else: what runs instead, exactly as it is. ``note`` is for the
    model to read."""

    permission_id: str
    decision: WireDecision
    command: str | None = None
    note: str | None = None


class PermissionAnswerResult(FromServer, frozen=True):
    """False: the question was settled before, or is not known."""

    accepted: bool
