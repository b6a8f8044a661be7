"""Putting whole lines at the end of a file, with the line ends that the file has."""

from marvin_server.providers.offline.instructions import Append
from marvin_server.providers.offline.markdown import code
from marvin_server.providers.offline.report import Acting, Report, failed
from marvin_server.providers.offline.results import EMPTY_FILE, explain, read_excerpt, read_line_count
from marvin_server.providers.offline.turn import Step, ask

_TAIL = 20


def append(step: Append) -> Acting:
    """Append lines. A file that is too large to be read whole keeps its last line as it is: with a line end or not."""
    whole = yield from ask("read_file", path=step.path)
    size = read_line_count(whole) if whole.status == "error" else None
    if size is not None:
        done = yield from _patch_end(step, size)
    elif not whole.ok:
        done = whole
    else:
        text = "" if whole.text == EMPTY_FILE else whole.text
        newline = "\r\n" if text.rpartition("\n")[0].endswith("\r") else "\n"
        joint = newline if text and not text.endswith("\n") else ""
        content = joint + step.content.replace("\n", newline)
        done = yield from ask("append_file", path=step.path, content=content)
    return Report(explain(done)) if done.ok else failed(f"{code(step.path)} was not written", done)


def _patch_end(step: Append, size: int) -> Step:
    """A patch of the file's last lines, which fails unless they are in it only once."""
    last = yield from ask("read_file", path=step.path, start_line=max(1, size - _TAIL + 1), end_line=size)
    if not last.ok:
        return last
    excerpt = read_excerpt(last)
    if not excerpt.is_to_the_end:
        return last.but_failed("Its last lines are too long to be sure of its end.")
    old = "\n".join(excerpt.lines)
    return (yield from ask("apply_patch", path=step.path, old_str=old, new_str=f"{old}\n{step.content[:-1]}"))
