"""Makes a request fit the model that it goes to: notes in the place of pictures, and no tools, where it takes none."""

from typing import Protocol

from msgspec.structs import replace

from marvin_server.messages import Image, Message, Part, Text, ToolResult
from marvin_server.providers.base import ModelRequest

_NO_TOOLS = "\n\nNo tools are available to you: answer with what you know, and say what you cannot look up or do."


class Abilities(Protocol):
    """What a model can take; None where that is not known, and then it is tried."""

    @property
    def tools(self) -> bool | None: ...

    @property
    def images(self) -> bool | None: ...


def fitted(request: ModelRequest, abilities: Abilities, model: str) -> ModelRequest:
    """``request`` as ``model`` can take it."""
    request = replace(request, history=tuple(map(_with_one_text, request.history)))
    if request.tools and abilities.tools is False:
        request = replace(request, tools=(), system=request.system + _NO_TOOLS)
    if abilities.images is False:
        note = f"[a picture was here; {model} takes none]"
        request = replace(request, history=tuple(_without_pictures(message, note) for message in request.history))
    return request


def _with_one_text(message: Message) -> Message:
    """``message`` with what an editor has added in the text that it was added to."""
    if not any(isinstance(part, Text) and part.label for part in message.parts):
        return message
    others = (part for part in message.parts if not isinstance(part, Text))
    return replace(message, parts=(*others, Text(message.text)))


def _without_pictures(message: Message, note: str) -> Message:
    parts = tuple(_without_picture(part, note) for part in message.parts)
    return message if parts == message.parts else replace(message, parts=parts)


def _without_picture(part: Part, note: str) -> Part:
    match part:
        case Image():
            return Text(f"{note}\n")
        case ToolResult(images=(_, *_)):
            return replace(part, text="\n".join([part.text, *[note] * len(part.images)]), images=())
        case _:
            return part
