"""A section of ``.marvin/memories/INDEX.md``: what a backup is about, found by rules and without a model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from marvin_server.agent.compaction import content, topics
from marvin_server.messages import Message, ToolResult

_KEYWORDS, _FILES, _FINDINGS, _TOPICS = 20, 30, 12, 15
_LENGTH = 160  # characters of a finding
_WORD = re.compile(r"[^\W\d_][\w-]{3,40}")
_PATH = re.compile(r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}\b(?!\()")
# Lines in which a model says what it has found or decided, or a tool that something is wrong.
_FINDING = re.compile(
    r"\b(because|cause[ds]? by|the cause|found|fix(ed)?|decid(ed|e)|must|must not|never|always|error|fail(s|ed|ure)?|"
    r"exception|warning|instead|turns out)\b",
    re.IGNORECASE,
)
_COMMON = re.compile(
    "about|after|again|also|been|before|being|between|both|class|could|does|doing|done|down|each|even|every|"
    "false|file|files|first|from|function|have|here|import|into|just|know|like|line|lines|made|make|many|more|"
    "most|much|need|next|none|only|other|over|path|please|read|return|same|self|should|show|since|some|such|sure|"
    "take|than|that|their|them|then|there|these|they|this|those|through|time|tool|true|until|used|using|very|"
    "want|well|were|what|when|where|which|while|will|with|work|would|your",
    re.IGNORECASE,
)


def section(path: str, at: str, messages: Sequence[Message]) -> str:
    """The section about the backup in the file ``path``, made ``at`` a time, of these ``messages``."""
    parts = (
        ("Asked", topics(messages)[:_TOPICS]),
        ("Files", [", ".join(_files(messages))]),
        ("Keywords", [", ".join(_keywords(messages))]),
        ("Findings", list(_findings(messages))),
    )
    lines = [f"## {at}: {path}\n", f"{len(messages)} messages.\n"]
    for heading, entries in parts:
        if any(entries):
            lines.append(f"\n{heading}:\n")
            lines += [f"- {entry}\n" for entry in entries]
    return "".join([*lines, "\n"])


def _keywords(messages: Sequence[Message]) -> list[str]:
    """The words that were said most often in the conversation, but for those that say nothing."""
    words = (word for message in messages for word in _WORD.findall(content(message)))
    counted = Counter(word.lower() for word in words)
    telling = [(count, word) for word, count in counted.items() if not _COMMON.fullmatch(word)]
    return [word for _, word in sorted(telling, key=lambda each: (-each[0], each[1]))[:_KEYWORDS]]


def _files(messages: Sequence[Message]) -> list[str]:
    """The files that were named most often, in what was said and in what tools were called with."""
    texts = [
        text for message in messages for text in (content(message), *(call.arguments for call in message.tool_calls))
    ]
    counted = Counter(path for text in texts for path in _PATH.findall(text))
    return [path for path, _ in counted.most_common(_FILES)]


def _findings(messages: Sequence[Message]) -> Iterator[str]:
    """Lines that say what was found, decided or wrong; the latest ones."""
    found: list[str] = []
    for message in messages:
        texts = [message.text] if message.role == "assistant" else []
        texts += [part.text for part in message.parts if isinstance(part, ToolResult) and part.status == "error"]
        for line in "\n".join(texts).splitlines():
            if _FINDING.search(line[: 4 * _LENGTH]) and (short := " ".join(line[:_LENGTH].split())) not in found:
                found.append(short)
    yield from found[-_FINDINGS:]
