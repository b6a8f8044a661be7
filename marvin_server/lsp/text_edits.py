"""What makes one text of a document another, as LSP's TextEdits of whole lines."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from marvin_server.edits.anchors import differing
from marvin_server.edits.lines import ended, split
from marvin_server.lsp import positions


def text_edits(old: str, new: str, encoding: str) -> list[dict[str, Any]]:
    """The edits from ``old`` to ``new``, sorted and apart; lines that stay are not touched."""
    lines, others = split(old), split(new)
    head = _common(lines, others)
    tail = _common(lines[head:][::-1], others[head:][::-1])

    def place(index: int) -> dict[str, int]:
        if index == len(lines) and lines and not ended(lines[-1]):
            return {"line": index - 1, "character": positions.units(lines[-1], encoding)}
        return {"line": index, "character": 0}

    return [
        {
            "range": {"start": place(head + region.start), "end": place(head + region.end)},
            "newText": "".join(region.new),
        }
        for region in differing(lines[head : len(lines) - tail], others[head : len(others) - tail])
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
