"""Words of code and prose, brought to one form so that a question finds them: parts of names, lower case, no endings.

Names are bytes here, in UTF-8: a repository has hundreds of megabytes of them.
"""

import re
from functools import lru_cache
from zlib import crc32

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_SHORTEST, _LONGEST = 3, 80
# What is no letter, digit or underscore becomes a space; beyond ASCII that is left to _PART.
_SPACED = bytes(code if code == 95 or code >= 128 or chr(code).isalnum() else 32 for code in range(256))

key = crc32
"""The number that stands for a word or a name: 32 bits, so that two of them may share one, very rarely."""


def names(text: bytes) -> set[bytes]:
    """The names, words and numbers in ``text`` as they stand there."""
    return set(text.translate(_SPACED).split())


@lru_cache(1 << 17)
def keys(name: bytes) -> tuple[int, ...]:
    """The keys of the words that a name is made of: ``parseHTTPHeaders`` has those of parsing, http and header."""
    if not _SHORTEST <= len(name) <= _LONGEST:
        return ()
    parts = _PART.findall(name.decode("utf-8", "replace"))
    return tuple(_key_of_part(part) for part in parts if len(part) >= _SHORTEST)


def keys_of(text: bytes) -> set[int]:
    """The keys of all words in ``text``."""
    return set[int]().union(*map(keys, names(text)))


@lru_cache(1 << 15)
def _key_of_part(part: str) -> int:
    return key(_stem(part.lower()).encode())


def _stem(word: str) -> str:
    """``word`` without its grammatical ending. English, and crude: both sides of a comparison are treated alike."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST and not word.endswith(("ss", "us", "is")):
            word = stem
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > _SHORTEST else word
