"""The embedded default: no model, no key, no network. It answers from the workspace by real tool calls."""

from marvin_server.providers.offline.provider import Offline

__all__ = ["Offline"]
