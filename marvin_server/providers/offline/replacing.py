"""Replacing text in a file: one place, or all of them in a single patch."""

import re
from collections.abc import Generator, Sequence

from msgspec import Struct

from marvin_server.providers.offline.instructions import Replace
from marvin_server.providers.offline.markdown import code, fence
from marvin_server.providers.offline.question import literal_pattern
from marvin_server.providers.offline.report import Acting, Report, count, failed
from marvin_server.providers.offline.results import Hit, hit_lines, read_excerpt, read_hits, was_cut
from marvin_server.providers.offline.turn import Call, Outcome, ask

_SHOWN_LINES = 20
_MOST_LINES = 2_000


class _Patched(Struct, frozen=True):
    """What became of the patch, and the lines that hold the places as they were before it."""

    outcome: Outcome
    lines: Sequence[tuple[int, str]]


_Patching = Generator[Sequence[Call], Sequence[Outcome], _Patched]


def replace(step: Replace) -> Acting:
    """Replace the one place, or all places, of the text; several places that were not asked for change nothing."""
    pattern = _place_pattern(step)
    found = yield from ask("code_grep", pattern=pattern, path=step.path)
    if not found.ok:
        return failed(f"{code(step.path)} was not changed", found)
    hits = read_hits(found)
    if len(hits) < len(hit_lines(found)):
        return Report(f"I cannot tell the name of {code(step.path)} from its text, so I changed nothing.", done=False)
    if not hits:
        return Report(f"{code(step.old)} is nowhere in {code(step.path)}, so nothing was changed.", done=False)
    number = sum(len(re.findall(pattern, hit.text)) for hit in hits)
    if not step.everywhere and number > 1:
        return Report(_several(step, hits, number, is_more=was_cut(found)), done=False)
    if step.everywhere:
        patched = yield from _patch_all(step, pattern, hits, to_the_end=was_cut(found))
    else:
        outcome = yield from ask("apply_patch", path=step.path, old_str=step.old, new_str=step.new)
        patched = _Patched(outcome, [(hit.line, hit.text) for hit in hits])
    if not patched.outcome.ok:
        return failed(f"{code(step.path)} was not changed", patched.outcome)
    return Report(_changed(step, pattern, patched.lines))


def _patch_all(step: Replace, pattern: str, hits: Sequence[Hit], *, to_the_end: bool) -> _Patching:
    """One patch for all places, whose old text is the lines from the first to the last, and one around them.

    That text is in the file only once, by its making: a second one would hold a place outside of the first.
    """
    start, last = max(1, hits[0].line - 1), hits[-1].line + 1
    end = start + _MOST_LINES - 1 if to_the_end else last
    span = yield from ask("read_file", path=step.path, start_line=start, end_line=end)
    if not span.ok:
        return _Patched(span, ())
    excerpt = read_excerpt(span)
    if not excerpt.is_to_the_end and (to_the_end or len(excerpt.lines) <= last - start):
        reason = "its places are too far apart for one patch. Quote more of the lines that you mean, one by one."
        return _Patched(span.but_failed(reason), ())
    if any("[line cut: " in line for line in excerpt.lines):
        return _Patched(span.but_failed("a line of it is too long to be changed as a whole."), ())
    old = "\n".join(excerpt.lines)
    new = re.sub(pattern, lambda _: step.new, old)
    outcome = yield from ask("apply_patch", path=step.path, old_str=old, new_str=new)
    lines = [(number, line) for number, line in enumerate(excerpt.lines, start) if re.search(pattern, line)]
    return _Patched(outcome, lines)


def _place_pattern(step: Replace) -> str:
    pattern = literal_pattern(step.old)
    if not step.whole_words:
        return pattern
    before = r"\b" if re.match(r"\w", step.old) else ""
    after = r"\b" if re.search(r"\w\Z", step.old) else ""
    return before + pattern + after


def _changed(step: Replace, pattern: str, lines: Sequence[tuple[int, str]]) -> str:
    number = sum(len(re.findall(pattern, line)) for _, line in lines)
    shown = lines[:_SHOWN_LINES]
    numbers = ", ".join(str(at) for at, _ in shown) + (", …" if len(lines) > _SHOWN_LINES else "")
    changes = "\n".join(f"-{line}\n+{re.sub(pattern, lambda _: step.new, line)}" for _, line in shown)
    return (
        f"Replaced {code(step.old)} with {code(step.new)} in {code(step.path)}, {count(number, 'place')} on "
        f"line{'s' if len(lines) > 1 else ''} {numbers}:\n\n{fence(changes, 'diff')}"
    )


def _several(step: Replace, hits: Sequence[Hit], number: int, *, is_more: bool) -> str:
    lines = "\n".join(f"{hit.path}:{hit.line}: {hit.text}" for hit in hits[:_SHOWN_LINES])
    return (
        f"{code(step.old)} is in {'more than ' if is_more else ''}{number} places of {code(step.path)}, so I changed "
        f"nothing. Quote more of the line that you mean, or say `replace all A with B in {step.path}`.\n\n"
        f"{fence(lines)}"
    )
