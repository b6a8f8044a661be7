"""Carrying out instructions by tool calls, one after the other, until one of them fails."""

import re
from collections.abc import Sequence

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
from marvin_server.providers.offline.results import EMPTY_FILE, explain, read_exit_code, read_hits, read_lines, was_cut
from marvin_server.providers.offline.turn import Call, Plan, ask

_SHOWN_LINES = 60
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
            acting = _append(step)
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


def _append(step: Append) -> Acting:
    before = yield from ask("read_file", path=step.path)
    joint = "\n" if before.ok and before.text != EMPTY_FILE and not before.text.endswith("\n") else ""
    return (yield from _change(Call("append_file", {"path": step.path, "content": joint + step.content})))


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
    lines = output.rstrip("\n").split("\n")
    shown = "\n".join(lines[-_SHOWN_LINES:])
    heading = f"{code(command)} ended with exit code {exit_code}" if exit_code is not None else f"{code(command)} ended"
    if not shown.strip():
        return Report(f"{heading} and printed nothing.", done=exit_code in {0, None})
    cut = f"; these are the last {_SHOWN_LINES} of {len(lines)} lines" if len(lines) > _SHOWN_LINES else ""
    return Report(f"{heading}{cut}:\n\n{fence(shown)}", done=exit_code in {0, None})


def _run_tests() -> Acting:
    listing, rules = yield [
        Call("tree", {"depth": 1}),
        Call("code_grep", {"pattern": r'^test *:|\[tool\.pytest|"test" *:|^\[pytest\]'}),
    ]
    if not listing.ok:
        return failed("I could not look for the tests", listing)
    declared = {hit.path for hit in read_hits(rules.text)} if rules.ok else set[str]()
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
    outcome = yield from ask("read_file", path=step.path, start_line=step.start, end_line=step.end)
    heading = f"`{step.path}:{step.start or 1}`"
    if outcome.status == "error" and step.start is None:
        head = yield from ask("read_file", path=step.path, start_line=1, end_line=80)
        if not head.ok:
            return failed(f"I could not read {code(step.path)}", outcome)
        outcome = head
        heading += f", its head (name lines to see others: `read {step.path} lines 81-160`)"
    if not outcome.ok:
        return failed(f"I could not read {code(step.path)}", outcome)
    text = "\n".join(read_lines(outcome.text))
    return Report(f"{heading}\n\n{fence(text, language(step.path))}")


def _find(step: Find) -> Acting:
    outcome = yield from ask("code_grep", pattern=step.text, path=step.path, literal=True, ignore_case=True)
    where = f"in {code(step.path)}" if step.path else "in this workspace"
    if not outcome.ok:
        return failed("I could not search", outcome)
    hits = read_hits(outcome.text)
    if not hits:
        return Report(f"{code(step.text)} is nowhere {where}.")
    files = len({hit.path for hit in hits})
    more = " at least" if was_cut(outcome.text) else ""
    heading = f"{code(step.text)} is on{more} {count(len(hits), 'line')} of {count(files, 'file')} {where}"
    shown = "\n".join(f"{hit.path}:{hit.line}: {hit.text}" for hit in hits[:_SHOWN_LINES])
    cut = f"; the first {_SHOWN_LINES}" if len(hits) > _SHOWN_LINES else ""
    return Report(f"{heading}{cut}:\n\n{fence(shown)}")
