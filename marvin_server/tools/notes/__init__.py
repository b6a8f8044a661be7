"""Keep notes in the workspace."""
