"""``marvin lsp``: the core in any editor, by the Language Server Protocol and the ``marvin/*`` methods."""
