"""Edits as pure functions: text in, text out. A patch is parsed (``formats``), verified (``verify``), then applied."""
