"""Messages as they are stored, and a stored conversation made fit to be sent again."""

import json
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from marvin_server.messages import Image, Message, ToolCall, ToolResult

MADE_UP = ".interrupted"
_INTERRUPTED = "interrupted: Marvin was stopped before this call finished; its effect is unknown"


def encode(message: Message) -> str:
    """``message`` as compact JSON, without the fields that have their default."""
    return storable(json.dumps(msgspec.to_builtins(message), ensure_ascii=False, separators=(",", ":")))


def decode(body: str) -> Message:
    """The message that ``encode`` wrote. Raises ``ValueError`` for anything else."""
    try:
        return msgspec.json.decode(body, type=Message)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def storable(text: str) -> str:
    """``text`` as Unicode: halves of a surrogate pair are joined, and U+FFFD stands for one that is alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def size(message: Message) -> int:
    """How many characters the parts of ``message`` hold."""
    total = 0
    for part in message.parts:
        match part:
            case ToolCall():
                total += len(part.arguments)
            case Image():
                total += len(part.data)
            case ToolResult():
                total += len(part.text) + sum(len(image.data) for image in part.images)
            case _:
                total += len(part.text)
    return total


def answered(messages: Sequence[Message]) -> list[Message]:
    """``messages`` with a made-up result for each tool call that has none."""
    whole: list[Message] = []
    calls: tuple[ToolCall, ...] = ()
    for message in (*messages, None):
        answer = message if message and message.role == "tool" else None
        known = {part.call_id for part in answer.parts if isinstance(part, ToolResult)} if answer else set[str]()
        missing = tuple(
            ToolResult(call.id, call.name, _INTERRUPTED, "cancelled") for call in calls if call.id not in known
        )
        if missing and not answer:
            whole.append(Message("tool", missing, id=f"{whole[-1].id}{MADE_UP}"))
        if message:
            whole.append(replace(answer, parts=(*answer.parts, *missing)) if answer else message)
            calls = message.tool_calls
    return whole
