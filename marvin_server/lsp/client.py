"""What the client has said about itself in ``initialize``."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from marvin_server.protocol.greeting import VERSION

_ENCODINGS = ("utf-8", "utf-16", "utf-32")


class Client(Struct, frozen=True):
    """``version`` is the dialect's that both sides speak, None for a client without the ``marvin/*`` methods.

    ``opt_out`` are kinds of events that it does not want, ``abilities`` the names of what it can do. ``encoding`` is
    the unit of its positions; ``process_id`` is the process that the server must not outlive. ``problem`` is one line
    for the person where the two sides do not fit. ``folders`` are the URIs of the workspace's folders, of
    which ``didChangeWorkspaceFolders`` tells later.
    It ``completes_inline`` when it can show such completions and its person has asked for them.
    """

    version: int | None = None
    opt_out: tuple[str, ...] = ()
    abilities: frozenset[str] = frozenset()
    encoding: str = "utf-16"
    process_id: int | None = None
    problem: str | None = None
    capabilities: Mapping[str, Any] = {}
    folders: tuple[str, ...] = ()
    completes_inline: bool = False

    def can(self, *path: str) -> bool:
        """Whether the client's capabilities, as it sent them, have something at ``path`` that is not false."""
        found: Any = self.capabilities
        for name in path:
            found = _object(found).get(name)
        return found is not None and found is not False


def read(params: Mapping[str, Any]) -> Client:
    """The client that sent these ``InitializeParams``; what is not as LSP has it counts as not said."""
    client = replace(_read(params), capabilities=_object(params.get("capabilities")), folders=_folders(params))
    wanted = _object(params.get("initializationOptions")).get("inlineCompletion") is True
    return replace(client, completes_inline=wanted and client.can("textDocument", "inlineCompletion"))


def _read(params: Mapping[str, Any]) -> Client:
    capabilities = _object(params.get("capabilities"))
    encodings = _strings(_object(capabilities.get("general")).get("positionEncodings"))
    encoding = next((name for name in encodings if name in _ENCODINGS), "utf-16")
    process_id = params.get("processId")
    if not isinstance(process_id, int) or isinstance(process_id, bool) or process_id <= 0:
        process_id = None
    announced = _object(capabilities.get("experimental")).get("marvin")
    if announced is None:
        announced = _object(params.get("initializationOptions")).get("marvin")
    if announced is None:
        return Client(encoding=encoding, process_id=process_id)
    said = _object(announced)
    version = said.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        problem = f"the plugin announces no version of Marvin's protocol that fits (this server has {VERSION})"
        return Client(encoding=encoding, process_id=process_id, problem=f"{problem}: update the older of the two")
    named = frozenset(name for name, value in said.items() if value is not None and value is not False)
    opt_out = _strings(said.get("optOut"))
    return Client(min(version, VERSION), opt_out, named, encoding, process_id)


def _folders(params: Mapping[str, Any]) -> tuple[str, ...]:
    given = params.get("workspaceFolders")
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    named = _strings([_object(folder).get("uri") for folder in listed])
    return named or _strings([params.get("rootUri")])


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _strings(value: Any) -> tuple[str, ...]:
    given = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(item for item in given if isinstance(item, str))
