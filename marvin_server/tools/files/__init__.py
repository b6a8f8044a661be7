"""Read, create and change files."""
