"""Where relative paths begin."""
