"""Replacing text in a file: one place, or all of them in a single patch."""

import re
from collections.abc import Sequence

from marvin_server.providers.offline.instructions import Replace
from marvin_server.providers.offline.markdown import code, fence
from marvin_server.providers.offline.question import literal_pattern
from marvin_server.providers.offline.report import Acting, Report, count, failed
from marvin_server.providers.offline.results import Hit, read_hits, read_lines, was_cut
from marvin_server.providers.offline.turn import Outcome, Step, ask

_SHOWN_LINES = 20


def replace(step: Replace) -> Acting:
    """Replace the one place, or all places, of the text; several places that were not asked for change nothing."""
    pattern = _place_pattern(step)
    found = yield from ask("code_grep", pattern=pattern, path=step.path)
    if not found.ok:
        return failed(f"{code(step.path)} was not changed", found)
    hits = read_hits(found.text)
    number = sum(len(re.findall(pattern, hit.text)) for hit in hits)
    if not hits:
        return Report(f"{code(step.old)} is nowhere in {code(step.path)}, so nothing was changed.", done=False)
    if was_cut(found.text) or (number > 1 and not step.everywhere):
        return Report(_several(step, hits, number), done=False)
    if number == 1 and not step.whole_words:
        patched = yield from ask("apply_patch", path=step.path, old_str=step.old, new_str=step.new)
    else:
        patched = yield from _patch_span(step, pattern, hits)
    return Report(_changed(step, pattern, hits, number)) if patched.ok else failed(f"{code(step.path)}", patched)


def _patch_span(step: Replace, pattern: str, hits: Sequence[Hit]) -> Step:
    """One patch for all places, whose old text is the lines from the first to the last.

    That text is in the file only once, by its making: a second one would hold a place outside of the first.
    """
    span = yield from ask("read_file", path=step.path, start_line=hits[0].line, end_line=hits[-1].line)
    if not span.ok:
        return span
    lines = read_lines(span.text)
    if len(lines) <= hits[-1].line - hits[0].line:
        return Outcome(span.call, "error", "Its places are too far apart for one patch; nothing was changed.")
    old = "\n".join(lines)
    new = re.sub(pattern, lambda _: step.new, old)
    return (yield from ask("apply_patch", path=step.path, old_str=old, new_str=new))


def _place_pattern(step: Replace) -> str:
    pattern = literal_pattern(step.old)
    if not step.whole_words:
        return pattern
    before = r"\b" if re.match(r"\w", step.old) else ""
    after = r"\b" if re.search(r"\w\Z", step.old) else ""
    return before + pattern + after


def _changed(step: Replace, pattern: str, hits: Sequence[Hit], number: int) -> str:
    lines = [(hit.text, re.sub(pattern, lambda _: step.new, hit.text)) for hit in hits[:_SHOWN_LINES]]
    numbers = ", ".join(str(hit.line) for hit in hits[:_SHOWN_LINES]) + (", …" if len(hits) > _SHOWN_LINES else "")
    return (
        f"Replaced {code(step.old)} with {code(step.new)} in {code(step.path)}, {count(number, 'place')} on "
        f"line{'s' if len(hits) > 1 else ''} {numbers}:\n\n"
        + fence("\n".join(f"-{before}\n+{after}" for before, after in lines), "diff")
    )


def _several(step: Replace, hits: Sequence[Hit], number: int) -> str:
    lines = "\n".join(f"{hit.path}:{hit.line}: {hit.text}" for hit in hits[:_SHOWN_LINES])
    advice = "" if step.everywhere else f", or say `replace all A with B in {step.path}`"
    return (
        f"{code(step.old)} is in {number} places of {code(step.path)}, so I changed nothing. "
        f"Quote more of the line that you mean{advice}.\n\n{fence(lines)}"
    )
