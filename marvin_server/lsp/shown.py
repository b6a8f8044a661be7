"""What an editor gets to show: nothing in it acts on a screen or hides, whoever has written it."""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.events import (
    Command,
    Event,
    MessageDelta,
    MessageFinished,
    Permission,
    Script,
    ThoughtDelta,
    ThoughtFinished,
    ToolFinished,
    ToolOutput,
    TurnFinished,
)
from marvin_server.sanitise import Sanitiser, printable, revealed

# What a client sends back, opens or looks for in a text: there it has to be as it is.
_EXACT = frozenset({"cwd", "data", "edits", "insert_text", "uri", "vendor"})
_DEEPEST = 100
T = TypeVar("T")


def shown(value: T) -> T:
    """``value``, a text or whatever holds some, with every text as ``sanitise.printable`` gives it. Applying it twice
    changes nothing more.

    Of a question everything is revealed but the text of the command, which can be sent back: ``Command.revealed`` says
    what hides in it. The edits of a patch are exact, as the editor finds their lines in the files.
    """
    return cast("T", _shown(value, 0))


class ShownEvents:
    """``shown`` for the events of a session, one after the other: however a text is cut into deltas, what is shown is
    the same."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], Sanitiser] = {}

    def next(self, event: Event) -> Event:
        """``event``, which comes after those before."""
        match event:
            case MessageDelta() | ThoughtDelta():
                return self._delta(event, event.message_id)
            case ToolOutput():
                return self._delta(event, event.tool_call_id)
            case MessageFinished():
                self._streams.pop((MessageDelta.__name__, event.message.id), None)
            case ThoughtFinished():
                self._streams.pop((ThoughtDelta.__name__, event.message_id), None)
            case ToolFinished():
                self._streams.pop((ToolOutput.__name__, event.tool_call_id), None)
            case TurnFinished():
                self._streams.clear()
            case _:
                pass
        return shown(event)

    def _delta(self, event: MessageDelta | ThoughtDelta | ToolOutput, stream_id: str) -> Event:
        stream = self._streams.setdefault((type(event).__name__, stream_id), Sanitiser())
        text = stream.feed(event.text)
        return event if text == event.text else replace(event, text=text)


def _shown(value: Any, depth: int) -> Any:
    told: Any = value
    if isinstance(value, str):
        told = printable(value)
    elif depth > _DEEPEST:
        told = "[nested too deeply to be shown]"
    elif isinstance(value, Permission):
        told = _permission(value)
    elif isinstance(value, Struct):
        told = _struct(value, depth + 1)
    elif isinstance(value, tuple | list):
        items = [_shown(item, depth + 1) for item in cast("list[Any]", value)]
        told = items if isinstance(value, list) else tuple(items)
    elif isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        told = {printable(name): _shown(item, depth + 1) for name, item in pairs}
    return told


def _struct(value: Struct, depth: int) -> Struct:
    fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _EXACT}
    told = {name: _shown(field, depth) for name, field in fields.items()}
    changed = {name: field for name, field in told.items() if field != fields[name]}
    return replace(value, **changed) if changed else value


def _permission(asked: Permission) -> Permission:
    return replace(
        asked,
        title=revealed(asked.title).replace("\n", "␊"),
        reason=revealed(asked.reason),
        decided_by=revealed(asked.decided_by),
        command=asked.command and _command(asked.command),
        diff=asked.diff and revealed(asked.diff),
    )


def _command(command: Command) -> Command:
    told = revealed(command.display)
    return replace(
        command,
        shell=revealed(command.shell),
        cwd=revealed(command.cwd),
        env_changes={revealed(name): revealed(value) for name, value in command.env_changes.items()},
        scripts=tuple(Script(revealed(one.path), revealed(one.text), one.digest) for one in command.scripts),
        sandbox=revealed(command.sandbox),
        revealed=None if told == command.display else told,
    )
