"""The floor for ``marvin lsp``: a bare pygls server, as one would write it."""

from pygls.lsp.server import LanguageServer

LanguageServer("bare", "1").start_io()
