"""Content codings (RFC 9110 §8.4.1): a compressed body is unpacked as it arrives."""

import zlib
from typing import Protocol


class Decoder(Protocol):
    """Unpacks one body. Both raise ``ValueError`` when it is damaged."""

    def feed(self, chunk: bytes) -> bytes:
        """What ``chunk`` adds; may be empty."""
        ...

    def close(self) -> None:
        """Tell that the body has ended."""
        ...


def decoder(content_encoding: str) -> Decoder | None:
    """The decoder for the value of a Content-Encoding header; None where the body is to be taken as it is.

    Raises ``LookupError`` for a coding that is not known.
    """
    match content_encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Zlib(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Zlib(zlib.MAX_WBITS)
        case unknown:
            raise LookupError(unknown)


class _Zlib:
    def __init__(self, wbits: int) -> None:
        self._stream = zlib.decompressobj(wbits)
        self._wbits = wbits
        self._begun = False

    def feed(self, chunk: bytes) -> bytes:
        try:
            unpacked = self._unpack(chunk)
        except zlib.error as error:
            raise ValueError(f"{error}") from None
        self._begun = True
        return unpacked

    def close(self) -> None:
        if self._begun and not self._stream.eof:
            raise ValueError("the compressed body is incomplete")

    def _unpack(self, chunk: bytes) -> bytes:
        try:
            return self._stream.decompress(chunk)
        except zlib.error:
            if self._begun or self._wbits != zlib.MAX_WBITS:
                raise
            # Some servers send the bare format under the name deflate.
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._stream.decompress(chunk)
