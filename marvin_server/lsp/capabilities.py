"""The answer to ``initialize``: what the server can do for this client."""

from collections.abc import Iterable
from typing import Any

from marvin_server import __version__
from marvin_server.lsp import context, framing
from marvin_server.lsp.client import Client
from marvin_server.lsp.features import actions, documents
from marvin_server.protocol.greeting import VERSION

PREFIX = "marvin/"


def initialized(client: Client, methods: Iterable[str]) -> dict[str, Any]:
    """LSP's ``InitializeResult``; ``methods`` are those of the dialect that the server has."""
    marvin: dict[str, Any] = {
        "protocolVersion": client.version or VERSION,
        "features": {name.removeprefix(PREFIX): {} for name in methods},
        "limits": {"messageBytes": framing.LARGEST_BODY, "imageBytes": context.LARGEST_IMAGE},
        "version": __version__,
    }
    capabilities: dict[str, Any] = {"positionEncoding": client.encoding, "experimental": {"marvin": marvin}}
    capabilities |= actions.CAPABILITIES
    if client.completes_inline:
        capabilities["inlineCompletionProvider"] = True
    capabilities |= documents.CAPABILITIES
    return {"capabilities": capabilities, "serverInfo": {"name": "marvin", "version": __version__}}
