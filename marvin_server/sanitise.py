"""Makes text from models, tools and the web harmless to look at: what would act, hide or mislead becomes visible.

Everything that reaches a terminal or an editor from outside passes through here. Nothing is left out but colours and
the CR of a line's end: a character that may not pass is shown as a symbol (ESC as ␛) or by its number (⟨U+202E⟩), so
that a trick is seen, and cannot eat the text after it either. What a person writes in any language stays as it is, with
the joiners, selectors and combining marks that its script and emoji need.

Where to look things up: escape sequences in ECMA-48, default-ignorable characters in Unicode's DerivedCoreProperties,
joiners in UTS 51 (emoji) and UAX 31 (letters), reordering in "Trojan Source" (CVE-2021-42574).
"""

import re
from functools import lru_cache

# Letters, digits, punctuation and pictures that are always harmless; all else is thought about, one by one.
_HARMLESS = (
    r"\w\n\t -~¡-¬®-ÿ\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff\u3000-\u3029\u3030-\u303f\uff01-\uff9f"
    r"\U0001f000-\U0001faff"
)
_PLAIN = bytes((9, 10, *range(32, 127)))
_FILLERS = "\u115f\u1160\u3164\uffa0"
_DROPPED = r"(?:\x1b\[|\x9b)[0-9;:]{0,64}m|\r(?=\n)"
_STRANGE = re.compile(rf"(?P<dropped>{_DROPPED})|[^{_HARMLESS}]|[{_FILLERS}]")
# What looks like a space and is none: the braille pattern without a dot, and the blank between ideographs.
_BLANKS = "\u2800\u3000"
_STRANGE_EXACTLY = re.compile(rf"(?P<dropped>(?!))|[^{_HARMLESS}]|[{_FILLERS}{_BLANKS}]")
# The end of a piece whose meaning depends on what comes next.
_PENDING = re.compile(r"(?:\x1b(?:\[[0-9;:]{0,64})?|\x9b[0-9;:]{0,64}|\r|[\u200c\u200d])\Z")

_MOST_MARKS = 8
_CONTEXT = 8
_ENGLAND, _SCOTLAND, _WALES = (
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in f"{name}\x7f")
    for name in ("gbeng", "gbsct", "gbwls")
)
_FLAGS = (_ENGLAND, _SCOTLAND, _WALES)
# Number signs of Arabic and its kin, which are format characters and yet have a shape.
_SHAPED = frozenset((*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))
_SHAPELESS_MARKS = frozenset((0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x1810)))
_ACCEPT_STYLE = frozenset("#*0123456789©®")


def printable(text: str) -> str:
    """``text`` for reading: control, reordering and invisible characters shown; colours dropped; newline, tab stay.

    Ordinary text comes back as the same object. Applying it twice changes nothing more.
    """
    return text if _is_plain(text) or _STRANGE.search(text) is None else _shown(text, "", _STRANGE)


def revealed(text: str) -> str:
    """``text`` for a decision, such as a diff, a command or a path: as ``printable``, and nothing at all is hidden.

    Colours, a CR before a newline, joiners, variation selectors and unusual blanks are shown as well.
    """
    return text if _is_plain(text) or _STRANGE_EXACTLY.search(text) is None else _shown(text, "", _STRANGE_EXACTLY)


def one_line(text: str, limit: int = 2000) -> str:
    """``text`` as a single printable line of at most ``limit`` characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Sanitiser:
    """``printable`` for text that comes in pieces: however it is cut, what is shown is the same.

    A piece's last characters wait for the next piece where they may be the start of something, 67 at most.
    """

    def __init__(self) -> None:
        self._held = ""
        self._before = ""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        text = self._held + text
        self._held = ""
        if _is_plain(text) or _STRANGE.search(text) is None:
            self._before = (self._before + text[-_CONTEXT:])[-_CONTEXT:]
            return text
        if pending := _PENDING.search(text):
            self._held = pending[0]
            text = text[: pending.start()]
        return self._show(text)

    def flush(self) -> str:
        """What is left when no more text comes; the next piece begins anew."""
        rest = self._show(self._held)
        self._held = self._before = ""
        return rest

    def _show(self, text: str) -> str:
        shown = _shown(text, self._before, _STRANGE)
        self._before = (self._before + shown[-_CONTEXT:])[-_CONTEXT:]
        return shown


def _is_plain(text: str) -> bool:
    """Whether it is nothing but printable ASCII; it takes a fraction of the time of a search."""
    return text.isascii() and not text.encode().translate(None, _PLAIN)


def _shown(text: str, before: str, strange: re.Pattern[str]) -> str:
    """``text`` as it is shown behind ``before``, the end of what was shown last."""
    pieces: list[str] = []
    end = 0
    for match in strange.finditer(text):
        start = match.start()
        if start > end:
            pieces.append(text[end:start])
            before = (before + text[max(end, start - _CONTEXT) : start])[-_CONTEXT:]
        end = match.end()
        if not match["dropped"]:
            shown = _visible(match[0], before, text[end : end + 1], exactly=strange is _STRANGE_EXACTLY)
            pieces.append(shown)
            before = (before + shown)[-_CONTEXT:]
    pieces.append(text[end:])
    return "".join(pieces)


def _visible(char: str, before: str, after: str, *, exactly: bool) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if exactly and char in _BLANKS:
        return _numbered(char)
    kind = _category(char)
    if kind in ("Mn", "Me"):
        return _mark(char, before, exactly=exactly)
    if kind == "Cf":
        stays = code in _SHAPED or (not exactly and (_is_joined(char, before, after) or _is_of_a_flag(char, before)))
    elif kind == "Zs":
        stays = not exactly
    elif kind == "Cn":
        stays = not (code == 0x2065 or 0xFFF0 <= code <= 0xFFF8 or 0xE0000 <= code <= 0xE0FFF)
    else:
        stays = kind not in ("Cc", "Cs", "Zl", "Zp") and char not in _FILLERS
    return char if stays else _numbered(char)


@lru_cache(1024)
def _category(char: str) -> str:
    import unicodedata

    return unicodedata.category(char)


def _numbered(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _mark(char: str, before: str, *, exactly: bool) -> str:
    """A combining mark: one without a shape by its number, and no more than 8 on one letter."""
    code, base = ord(char), before[-1:]
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return char if not exactly and _has_styles(base, ideographs_only=code > 0xFFFF) else _numbered(char)
    if code in _SHAPELESS_MARKS:
        return _numbered(char)
    if len(before) >= _MOST_MARKS and all(_category(mark) in ("Mn", "Me") for mark in before[-_MOST_MARKS:]):
        return "\ufffd"
    return char


def _has_styles(base: str, *, ideographs_only: bool) -> bool:
    """Whether a variation selector may follow: a second one, or one behind a plain letter, would carry hidden data."""
    if not base or base in _ACCEPT_STYLE:
        return bool(base) and not ideographs_only
    code = ord(base)
    if ideographs_only:
        return 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x3FFFF
    return code >= 0x2030 and base not in "⟩\ufffd" and _category(base)[0] not in "MZC"


def _is_joined(char: str, before: str, after: str) -> bool:
    """Whether a joiner or non-joiner stands where its script, or an emoji of several pictures, needs it."""
    if char not in "\u200c\u200d" or not before or not after:
        return False
    if char == "\u200d" and _is_picture(after):
        last = before[-2:-1] if before[-1] == "\ufe0f" else before[-1]
        return bool(last) and _is_picture(last)
    return _is_joining_letter(before[-1]) and _is_joining_letter(after)


def _is_picture(char: str) -> bool:
    code = ord(char)
    return 0x1F000 <= code <= 0x1FAFF or 0x2190 <= code <= 0x27BF or 0x2B00 <= code <= 0x2BFF


def _is_joining_letter(char: str) -> bool:
    """A letter or mark of Arabic and its kin, of India's scripts, Myanmar, Khmer or Mongolian."""
    code = ord(char)
    known = 0x600 <= code < 0xE00 or 0x1000 <= code < 0x10A0 or 0x1780 <= code < 0x18B0 or 0xA8E0 <= code < 0xA900
    return known and _category(char)[0] in "LM" and code not in _SHAPELESS_MARKS


def _is_of_a_flag(char: str, before: str) -> bool:
    """Whether a tag character belongs to the flag of England, Scotland or Wales, which are spelt with them."""
    start = before.rfind(_ENGLAND[0])
    return start >= 0 and any(flag.startswith(before[start:] + char) for flag in _FLAGS)
