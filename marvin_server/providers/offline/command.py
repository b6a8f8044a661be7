"""A shell command as people put it into a sentence: exactly what is quoted, or what is plainly no prose."""

import re

from marvin_server.providers.offline.instructions import Run, Unclear
from marvin_server.providers.offline.quoting import CLOSING, COURTESY, QUOTE, without_quotations

_NOT_QUOTED = "Put the exact command, and nothing else, in backticks: ``run `pytest -q` ``."
_NO_COMMAND = (
    r"(?i)(?:through|me|us|a|an|the|it|this|that|these|those|all|some|my|our|your|into|out|away|over|tests?)\b"
    r"(?! *[=|/&<>.])"
)
_SHELL_IN = r"\b(?:for|case|select)\s+\S+\s+in\b"
_PROSE = (
    r"(?i)(?:,|(?<=\w)[.!?])?\s+(?:and|or|but|so|on|in|with|against|over|into|to|using|because|until|when)\s"
    r"|,\s|(?<=\w)[.!?]\s|\s?`"
)


def read_command(text: str) -> Run | Unclear | None:
    """The command that follows ``run`` in a sentence; ``Unclear`` when it is not plain where it ends."""
    if text[0] in "`\"'“":
        quoted = re.match(QUOTE, text)
        if quoted and quoted[0][1:-1].strip() and re.fullmatch(CLOSING, text[quoted.end() :], re.IGNORECASE):
            return Run(quoted[0][1:-1])
        end = quoted.end() if quoted else 0
        return Unclear(f"run {text[:end]}".strip(), text[end:].strip(), _NOT_QUOTED)
    if re.match(_NO_COMMAND, text):
        return None
    command = _without_closing(text)
    plain = re.sub(_SHELL_IN, lambda match: "_" * len(match[0]), without_quotations(command))
    if prose := re.search(_PROSE, plain):
        return Unclear(f"run {command[: prose.start()]}".rstrip(), command[prose.start() :].strip(), _NOT_QUOTED)
    return Run(command)


def read_shell_line(text: str) -> Run | Unclear:
    """The command after a shell's ``$``: the line as it stands, unless backticks could be meant as quotes."""
    return Unclear("$", text, _NOT_QUOTED) if text.startswith("`") else Run(text)


def _without_closing(text: str) -> str:
    text = re.sub(r"(?<=[\w\"'`)\]}])[.?!]\Z", "", text.rstrip())
    return re.sub(rf"(?i){COURTESY}\Z", "", text)
