"""What there is to choose from: models, commands, and what completes the words of a prompt."""

from typing import Literal

from marvin_server.protocol.base import FromClient, FromServer

ProviderStatus = Literal["ready", "unavailable"]
CompletionKind = Literal["file", "folder", "command", "symbol"]


class ModelsListParams(FromClient, frozen=True):
    """``refresh`` asks the providers for their models now; else what is known is told."""

    provider: str | None = None
    refresh: bool = False


class Model(FromServer, frozen=True):
    """What is known of a model: ``context_size`` in tokens, and whether it can."""

    id: str
    context_size: int | None = None
    tools: bool | None = None
    images: bool | None = None
    thinking: bool | None = None


class Provider(FromServer, frozen=True):
    """``message`` says how it stands, ``advice`` what makes it ready, ``problem`` why it could not be asked."""

    id: str
    status: ProviderStatus
    models: tuple[Model, ...]
    message: str
    advice: str | None = None
    problem: str | None = None


class ModelsListResult(FromServer, frozen=True):
    providers: tuple[Provider, ...]


class CommandListParams(FromClient, frozen=True):
    session_id: str


class SlashCommand(FromServer, frozen=True):
    """``name`` is without the slash; ``argument_hint`` says what may follow it."""

    name: str
    description: str
    argument_hint: str | None = None


class CommandListResult(FromServer, frozen=True):
    commands: tuple[SlashCommand, ...]


class CompleteParams(FromClient, frozen=True):
    """The prompt as it is, and the ``cursor`` in it: from 0, in units of the negotiated encoding."""

    text: str
    cursor: int
    session_id: str | None = None


class Completion(FromServer, frozen=True):
    """``insert_text`` takes the place of the word before the cursor, with its ``@``, ``/`` or ``#``."""

    label: str
    insert_text: str
    kind: CompletionKind
    detail: str | None = None


class CompleteResult(FromServer, frozen=True):
    """The best first."""

    items: tuple[Completion, ...]
