"""A small language server that knows the classes and functions of Python files by name."""

import ast
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

server = LanguageServer("symbols", "1")


def _symbols(text: str) -> list[types.DocumentSymbol]:
    return [_symbol(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _symbol(node: ast.FunctionDef | ast.ClassDef) -> types.DocumentSymbol:
    kind = types.SymbolKind.Class if isinstance(node, ast.ClassDef) else types.SymbolKind.Function
    inner = [_symbol(each) for each in node.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    end = types.Position(node.end_lineno or 1, 0)
    whole = types.Range(types.Position(node.lineno - 1, 0), end)
    return types.DocumentSymbol(name=node.name, kind=kind, range=whole, selection_range=whole, children=inner)


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """All of an open document."""
    return _symbols(server.workspace.get_text_document(params.text_document.uri).source)


@server.feature(types.WORKSPACE_SYMBOL)
def search(params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """Those of the folder whose names hold the query."""
    return [
        types.SymbolInformation(
            name=symbol.name, kind=symbol.kind, location=types.Location(from_fs_path(str(path)) or "", symbol.range)
        )
        for path in sorted(Path(server.workspace.root_path or ".").rglob("*.py"))
        for symbol in _symbols(path.read_text())
        if params.query in symbol.name
    ]


if __name__ == "__main__":
    server.start_io()
