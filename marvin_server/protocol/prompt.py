"""``marvin/context/…``: what is sent with each prompt of a session, and what a person changes of it."""

from marvin_server.protocol.base import FromClient, FromServer


class ContextGetParams(FromClient, frozen=True):
    session_id: str


class ContextSetParams(FromClient, frozen=True):
    """``pin`` are paths of files that are kept in the prompt; ``drop`` names pins and blocks that are left out,
    ``restore`` blocks that were dropped."""

    session_id: str
    pin: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()


class ContextBlock(FromServer, frozen=True):
    """One part of the next request. ``kind`` is rules, person, instructions, skills, toolsets, earlier, map, pin,
    place, tools or conversation. Of one that was dropped ``is_sent`` is false. The costs are in USD: of a request, and
    of one which finds the block in the vendor's cache."""

    name: str
    kind: str
    tokens: int
    can_drop: bool
    is_sent: bool
    cost_usd: float | None = None
    cached_cost_usd: float | None = None


class ContextResult(FromServer, frozen=True):
    """The blocks in the order in which they are sent, and their sums; ``context_size`` is what the model reads, in
    tokens. ``notes`` are lines for the person on what is not in it."""

    blocks: tuple[ContextBlock, ...]
    tokens: int
    notes: tuple[str, ...]
    context_size: int | None = None
    cost_usd: float | None = None
    cached_cost_usd: float | None = None
