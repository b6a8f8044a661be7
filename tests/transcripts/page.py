"""``python -m tests.transcripts.page`` puts the transcript ``worked`` into docs/protocol.md, cut into its steps."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.transcripts.record import FOLDER, read

PAGE = FOLDER.parents[1] / "docs" / "protocol.md"
BEGIN = "<!-- cut from tests/transcripts/worked.jsonl by python -m tests.transcripts.page -->\n"
END = "<!-- end of the cut -->\n"
# What is said before the first line that has this text.
_STEPS = {
    '"initialize"': "Begin.",
    '"marvin/turn/start"': "Ask. The answer comes before the first event.",
    '"tool.started"': "The edit goes through the open document, and is confirmed by the change that follows.",
    '"round": 2': "What Marvin wrote is saved, so that the command sees it, and then the command is asked about.",
    '"round": 3': "The end of the turn, and a patch that the person keeps.",
    '"marvin/session/load"': "The session as a new window loads it, a request with a mistake in it, and the end.",
}
_ARROWS = {"client": "→", "server": "←"}
_ID = re.compile(r"(?<![0-9a-f])0{20}0*([0-9a-f]+)\b")


def cut() -> str:
    """The steps, each with its messages."""
    return "".join(_lines()) + "```\n"


def put(page: str) -> str:
    """``page`` with what is cut today."""
    head, _, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE} has no place for the transcript")
    return f"{head}{BEGIN}\n{cut()}\n{END}{tail}"


def _lines() -> Iterator[str]:
    steps = list(_STEPS.items())
    for number, each in enumerate(read("worked")):
        line = _ID.sub(r"id-\1", json.dumps(each["message"], ensure_ascii=False))
        if steps and steps[0][0] in line:
            yield f"{'```' + chr(10) * 2 if number else ''}{steps.pop(0)[1]}\n\n```\n"
        yield f"{_ARROWS[each['from']]} {line}\n"


def main(page: Path = PAGE) -> None:
    page.write_text(put(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
