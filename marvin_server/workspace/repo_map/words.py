"""Words of code and prose, brought to one form so that a question finds them: parts of names, lower case, no endings.

Names are bytes here, in UTF-8: a repository has hundreds of megabytes of them.
"""

import re
from functools import lru_cache

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
SHORTEST, LONGEST = 3, 80  # of a name, in bytes, and of a word
# What is no letter, digit or underscore becomes a space; beyond ASCII that is left to _PART.
_SPACED = bytes(code if code == 95 or code >= 128 or chr(code).isalnum() else 32 for code in range(256))


def names(text: bytes) -> set[bytes]:
    """The names, words and numbers in ``text`` as they stand there."""
    return set(text.translate(_SPACED).split())


@lru_cache(1 << 16)
def stems(name: bytes) -> tuple[str, ...]:
    """The stems of the words that a name is made of: ``parseHTTPHeaders`` has those of parsing, http and header."""
    if not SHORTEST <= len(name) <= LONGEST:
        return ()
    parts = _PART.findall(name.decode("utf-8", "replace"))
    return tuple(_stem(part.lower()) for part in parts if len(part) >= SHORTEST)


def stems_of(text: bytes) -> set[str]:
    """The stems of all words in ``text``."""
    return set[str]().union(*map(stems, names(text)))


def spellings(stem: str) -> tuple[str, ...]:
    """What a word of this stem has in it, in lower case: one of these."""
    return (stem, f"{stem[:-1]}ies") if stem.endswith("y") else (stem,)


@lru_cache(1 << 15)
def _stem(word: str) -> str:
    """``word`` without its grammatical ending. English, and crude: both sides of a comparison are treated alike."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= SHORTEST and not word.endswith(("ss", "us", "is")):
            word = stem
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > SHORTEST else word
