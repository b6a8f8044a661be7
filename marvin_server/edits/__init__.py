"""Edits as pure functions: text in, text out."""
