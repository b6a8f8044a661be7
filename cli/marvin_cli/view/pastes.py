"""Long pastes in a line of input: each stands there as one character, which is shown as a label and is sent as the
whole text. So a paste of any size costs nothing to edit around, and a person can delete it with one key."""

import re

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

LONG = 10_000
# Unicode's last plane for private use; what a person types from there stays what it is.
_FIRST, _LAST = 0x100000, 0x10FFFD
_STANDING_IN = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")


class Pastes:
    """The long pastes of one input, for as long as it lives: undoing brings a deleted one back."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """``text``, or where it is long the character that stands for it."""
        if len(text) <= LONG or len(self._texts) > _LAST - _FIRST:
            return text
        char = chr(_FIRST + len(self._texts))
        while char in text:
            char = chr(ord(char) + 1)
        self._texts[char] = text
        return char

    def unfold(self, text: str) -> str:
        """``text`` with all that was pasted."""
        return _STANDING_IN.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def size(self, text: str) -> int:
        """How many characters ``text`` has with all that was pasted."""
        return len(text) + sum(len(self._texts[char]) - 1 for char in text if char in self._texts)

    def label(self, char: str) -> str | None:
        """What is shown for a character; None where it stands for itself."""
        text = self._texts.get(char)
        return None if text is None else f"[{len(text):,} characters, {text.count(chr(10)) + 1:,} lines]"


class ShowPastes(Processor):
    """Shows the labels in place of their characters."""

    def __init__(self, pastes: Pastes) -> None:
        self._pastes = pastes

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """prompt-toolkit's entry."""
        given = transformation_input.fragments
        if not any(_STANDING_IN.search(fragment[1]) for fragment in given):
            return Transformation(given)
        shown: StyleAndTextTuples = []
        starts = [0]
        for fragment in explode_text_fragments(given):
            label = self._pastes.label(fragment[1])
            shown.append(fragment if label is None else ("class:accent", label))
            starts.append(starts[-1] + len(shown[-1][1]))

        def place(at: int) -> int:
            return starts[min(at, len(starts) - 1)]

        def source(at: int) -> int:
            return max(number for number, start in enumerate(starts) if start <= at)

        return Transformation(shown, place, source)
