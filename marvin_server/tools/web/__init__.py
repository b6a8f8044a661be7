"""The web: search it, and read a page of it."""
