"""What counts of a file: which names are in it, and which of them it defines. Lines are read, not trees: a grammar
takes many times as long, and only the files that are shown are worth it (see ``outline``)."""

from collections.abc import Iterator

from msgspec import Struct

from marvin_server.workspace.repo_map.languages import Language, is_text, language_of
from marvin_server.workspace.repo_map.words import names

LARGEST = 500_000  # bytes; of larger files only the path counts
_LONGEST_LINE = 20_000
_WIDEST = 400  # bytes in a line, on average


class Facts(Struct, frozen=True):
    """The ``names`` and words in a file, and those names that it ``defines``."""

    names: set[bytes]
    defines: set[bytes]


def scan(path: str, content: bytes) -> Facts:
    """The facts of the file ``path`` with this ``content``: none of what people do not write by hand."""
    if not is_readable(path, content):
        return Facts(set(), set())
    language = language_of(path)
    found = definitions(language, content.decode("utf-8", "replace")) if language else ()
    defines = {name.encode("utf-8", "replace") for _, name in found}
    return Facts(names(content) | defines, defines)


def is_readable(path: str, content: bytes) -> bool:
    """Whether a file is text that people write: not binary, not data, not minified, and not too large."""
    if not is_text(path) or len(content) > LARGEST or b"\0" in content:
        return False
    if len(content) > max(_WIDEST * (content.count(b"\n") + 1), _LONGEST_LINE):
        return False
    start = 0
    while len(content) - start > _LONGEST_LINE:
        start = content.rfind(b"\n", start, start + _LONGEST_LINE + 1) + 1
        if not start:
            return False
    return True


def definitions(language: Language, text: str) -> Iterator[tuple[int, str]]:
    """Where in ``text`` the lines begin that define something, and the name that each defines."""
    for match in language.definition.finditer(f"\n{text}"):
        yield match.start(), match[match.lastindex or 0]
