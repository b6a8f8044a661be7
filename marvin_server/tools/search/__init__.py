"""Find text and files."""
