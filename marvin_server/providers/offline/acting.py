"""Carrying out instructions by tool calls, one after the other, until one of them fails."""

import posixpath
import re
from collections.abc import Generator, Sequence

from marvin_server.providers.offline.appending import append
from marvin_server.providers.offline.instructions import (
    Append,
    Change,
    Find,
    Instruction,
    Read,
    Replace,
    Run,
    RunTests,
    Show,
    Undo,
)
from marvin_server.providers.offline.markdown import code, fence, language
from marvin_server.providers.offline.replacing import replace
from marvin_server.providers.offline.report import Acting, Report, count, failed
from marvin_server.providers.offline.results import (
    explain,
    hit_lines,
    read_excerpt,
    read_exit_code,
    read_hits,
    read_line_count,
    was_cut,
)
from marvin_server.providers.offline.turn import Call, Outcome, Plan, Step, ask

_SHOWN_LINES = 60
_HEAD = 80
_UNDO = (
    "I keep no copies of what I change, so there is nothing that I could take back. In a git repository "
    "`show diff` shows what has changed, and `run git restore FILE` brings back the committed text of a file."
)


def carry_out(steps: Sequence[Instruction]) -> Plan:
    """Do ``steps`` in order and tell what became of each."""
    reports: list[str] = []
    for number, step in enumerate(steps, start=1):
        report = yield from _act(step)
        reports.append(f"{number}. {report.text}" if len(steps) > 1 else report.text)
        if not report.done:
            if number < len(steps):
                reports.append(
                    f"I stopped there: step {number} of {len(steps)} did not succeed, so the rest was not done."
                )
            break
    return "\n\n".join(reports)


def _act(step: Instruction) -> Acting:
    match step:
        case Replace():
            acting = replace(step)
        case Run(command):
            acting = _run(command)
        case RunTests():
            acting = _run_tests()
        case Append():
            acting = append(step)
        case Read():
            acting = _read(step)
        case Find():
            acting = _find(step)
        case Show(tool, arguments):
            acting = _show(Call(tool, arguments))
        case Change(tool, arguments):
            acting = _change(Call(tool, arguments))
        case Undo():
            acting = _say(_UNDO)
    return acting


def _say(text: str) -> Acting:
    yield from ()
    return Report(text)


def _change(call: Call) -> Acting:
    outcome = yield from ask(call.name, **call.arguments)
    target = code(str(call.arguments.get("path") or call.arguments["name"]))
    return Report(explain(outcome)) if outcome.ok else failed(f"{target} was not written", outcome)


def _show(call: Call) -> Acting:
    outcome = yield from ask(call.name, **call.arguments)
    if not outcome.ok:
        return failed(f"{code(call.name)} did not work", outcome)
    return Report(fence(outcome.text.strip("\n"), "diff" if call.name == "git_diff" else ""))


def _run(command: str) -> Acting:
    outcome = yield from ask("run_command", command=command)
    exit_code, output = read_exit_code(outcome.text)
    if not outcome.ok:
        return failed(f"{code(command)} did not run to its end", outcome)
    done = exit_code == 0
    heading = f"{code(command)} {_ending(exit_code)}"
    lines = output.rstrip("\n").split("\n")
    shown = "\n".join(lines[-_SHOWN_LINES:])
    if not shown.strip():
        return Report(f"{heading} and printed nothing.", done)
    cut = f"; these are the last {_SHOWN_LINES} of {len(lines)} lines" if len(lines) > _SHOWN_LINES else ""
    return Report(f"{heading}{cut}:\n\n{fence(shown)}", done)


def _ending(exit_code: int | None) -> str:
    if exit_code is None:
        return "ended without an exit code"
    return f"ended with exit code {exit_code}" if exit_code >= 0 else f"was ended by signal {-exit_code}"


def _run_tests() -> Acting:
    listing, rules = yield [
        Call("tree", {"depth": 1}),
        Call("code_grep", {"pattern": r'^test *:|\[tool\.pytest|"test" *:|^\[pytest\]'}),
    ]
    if not listing.ok:
        return failed("I could not look for the tests", listing)
    declared = {hit.path for hit in read_hits(rules)}
    present = set(re.findall(r"[\w.-]+", listing.text))
    for sign, command in (
        ({"Makefile", "makefile", "GNUmakefile"} & declared, "make test"),
        ({"package.json"} & declared, "npm test"),
        ({"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"} & declared, "python -m pytest"),
        ({"conftest.py"} & present, "python -m pytest"),
        ({"Cargo.toml"} & present, "cargo test"),
        ({"go.mod"} & present, "go test ./..."),
        ({"pyproject.toml", "setup.py"} & present and {"tests", "test"} & present, "python -m pytest"),
        ({"tests", "test"} & present or re.search(r"\btest_\w+\.py\b", listing.text), "python -m unittest"),
    ):
        if sign:
            return (yield from _run(command))
    return Report(
        "I found no way to run the tests: no `test` target in a Makefile, no pytest or npm configuration, "
        "no Cargo.toml or go.mod. Tell me the command: `run COMMAND`.",
        done=False,
    )


def _read(step: Read) -> Acting:
    outcome = yield from _excerpt(step)
    path, remark = step.path, ""
    if outcome.status == "error" and explain(outcome).startswith("File not found"):
        names = yield from _same_name(step.path)
        if len(names) == 1:
            path, remark = names[0], f" (there is no {code(step.path)})"
            outcome = yield from _excerpt(Read(path, step.start, step.end))
        elif names:
            return Report(f"There is no {code(step.path)}; do you mean {' or '.join(map(code, names))}?", done=False)
    if not outcome.ok:
        return failed(f"I could not read {code(path)}", outcome)
    excerpt = read_excerpt(outcome)
    if step.start is None and not excerpt.is_to_the_end:
        remark += f", its head (name lines to see others: `read {path} lines {_HEAD + 1}-{2 * _HEAD}`)"
    text = "\n".join(excerpt.lines)
    return Report(f"`{path}:{excerpt.start}`{remark}\n\n{fence(text, language(path))}")


def _excerpt(step: Read) -> Step:
    """The lines that ``step`` names, else the whole file, else its head when it is too large."""
    outcome = yield from ask("read_file", path=step.path, start_line=step.start, end_line=step.end)
    if step.start is None and outcome.status == "error" and read_line_count(outcome) is not None:
        return (yield from ask("read_file", path=step.path, start_line=1, end_line=_HEAD))
    return outcome


def _same_name(path: str) -> Generator[Sequence[Call], Sequence[Outcome], list[str]]:
    """The files beside ``path`` of the same name in other case; a name without a suffix fits any suffix."""
    folder, name = posixpath.split(path)
    listing = yield from ask("tree", path=folder or ".", depth=1)
    names = listing.text.split("\n") if listing.ok else []
    wanted = name.lower()
    same = [other for other in names if other.lower() == wanted]
    stems = [other for other in names if other.lower().rpartition(".")[0] == wanted and "." not in wanted]
    return [posixpath.join(folder, other) for other in same or stems]


def _find(step: Find) -> Acting:
    outcome = yield from ask("code_grep", pattern=step.text, path=step.path, literal=True, ignore_case=True)
    where = f"in {code(step.path)}" if step.path else "in this workspace"
    if not outcome.ok:
        return failed("I could not search", outcome)
    lines, hits = hit_lines(outcome), read_hits(outcome)
    if not lines:
        return Report(f"{code(step.text)} is nowhere {where}.")
    files = f" of {count(len({hit.path for hit in hits}), 'file')}" if len(hits) == len(lines) else ""
    more = " at least" if was_cut(outcome) else ""
    heading = f"{code(step.text)} is on{more} {count(len(lines), 'line')}{files} {where}"
    cut = f"; the first {_SHOWN_LINES}" if len(lines) > _SHOWN_LINES else ""
    shown = "\n".join(lines[:_SHOWN_LINES])
    return Report(f"{heading}{cut}:\n\n{fence(shown)}")
