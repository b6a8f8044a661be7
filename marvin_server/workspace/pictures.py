"""Pictures as a model takes them: what is one, by its first bytes, and how large it may be."""

import base64

from marvin_server.messages import Image

# In bytes; the strictest vendor takes no more.
LARGEST = 5_000_000


def picture(content: bytes) -> Image | None:
    """The PNG, JPEG, GIF or WebP whose bytes these are, by the signatures of the formats' specifications."""
    mime_type = _mime_type(content)
    return Image(mime_type, base64.b64encode(content).decode()) if mime_type else None


def _mime_type(content: bytes) -> str | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
