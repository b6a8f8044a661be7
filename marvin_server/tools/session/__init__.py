"""The session itself: what it has used, and more tools."""
