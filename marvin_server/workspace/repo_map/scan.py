"""What is kept of a file: which words are in it, which names it defines and which it uses. Lines are read, not trees:
a grammar takes many times as long, and only the files that are shown are worth it (see ``outline``)."""

from array import array
from collections.abc import Iterable, Iterator

from msgspec import Struct

from marvin_server.workspace.repo_map.languages import Language, is_text, language_of
from marvin_server.workspace.repo_map.words import key, keys, keys_of, names

LARGEST = 500_000  # bytes; of larger files only the path counts
_LONGEST_LINE = 20_000
_WIDEST = 400  # bytes in a line, on average
_SHORTEST_USE = 4
_KEY = array("I").itemsize


class Facts(Struct, frozen=True, array_like=True):
    """Sorted arrays of keys (see ``words.key``), 32 bits each: the ``words`` of the whole text; those that the file is
    ``titled`` with, by its path and by the names in it; the names that it ``defines``, and those that it ``uses``
    without defining them."""

    words: bytes = b""
    titled: bytes = b""
    defines: bytes = b""
    uses: bytes = b""

    def __post_init__(self) -> None:
        if any(len(keys) % _KEY for keys in (self.words, self.titled, self.defines, self.uses)):
            raise ValueError("these are no arrays of keys")


def scan(path: str, content: bytes) -> Facts:
    """The facts of the file ``path`` with this ``content``. What people do not write by hand has but a path."""
    titled = keys_of(path.encode("utf-8", "replace"))
    if not is_readable(path, content):
        return Facts(titled=_packed(titled))
    found = names(content)
    language = language_of(path)
    if language is None:
        return Facts(_packed(titled.union(*map(keys, found))), _packed(titled))
    defined = {name.encode("utf-8", "replace") for _, name in definitions(language, content.decode("utf-8", "replace"))}
    titled.update(*map(keys, defined))
    used = (key(name) for name in found - defined if len(name) >= _SHORTEST_USE)
    return Facts(_packed(titled.union(*map(keys, found))), _packed(titled), _packed(map(key, defined)), _packed(used))


def is_readable(path: str, content: bytes) -> bool:
    """Whether a file is text that people write: not binary, not data, not minified, and not too large."""
    if not is_text(path) or len(content) > LARGEST or b"\0" in content:
        return False
    lines = content.count(b"\n") + 1
    if len(content) > max(_WIDEST * lines, _LONGEST_LINE):
        return False
    return len(content) <= _LONGEST_LINE or max(map(len, content.split(b"\n"))) <= _LONGEST_LINE


def definitions(language: Language, text: str) -> Iterator[tuple[int, str]]:
    """Where in ``text`` the lines begin that define something, and the name that each defines."""
    for match in language.definition.finditer(f"\n{text}"):
        yield match.start(), match[match.lastindex or 0]


def _packed(numbers: Iterable[int]) -> bytes:
    return array("I", sorted(set(numbers))).tobytes()
