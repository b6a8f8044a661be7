"""How it stands with the session in one row, and the prompts that wait."""

from marvin_cli.view.base import Standing
from marvin_cli.view.cells import Fragment, Row, cut, joined, width
from marvin_server.sanitise import one_line

_PICTURES = {
    "anthropic": "🔶",
    "copilot": "🐙",
    "gemini": "💎",
    "groq": "⚡",
    "local": "💻",
    "offline": "📴",
    "ollama": "🦙",
    "openai": "🌀",
    "openai-compat": "🔌",
    "replay": "📼",
}
_GAP = "  "
_MOST_QUEUED = 3


def bar(standing: Standing, columns: int) -> Row:
    """The row, in which the least important parts give way where the terminal is narrow."""
    provider = f"{_PICTURES.get(standing.provider, '🤖')} {standing.provider}"
    parts: list[tuple[int, str, str]] = [
        (0, "accent", standing.busy),
        (5, "bar", provider),
        (1, "bar bar.strong", standing.model),
        (2, "bar", standing.mode),
        (7, "bar", standing.profile),
        (6, "bar", f"{standing.messages} messages" if standing.messages != 1 else "1 message"),
        (3, "bar", _context(standing.context)),
        (4, "bar", "price unknown" if standing.cost_usd is None else f"${standing.cost_usd:.2f}"),
        *((8, "warning", flag) for flag in standing.flags),
    ]
    shown = [(rank, role, one_line(text, 60)) for rank, role, text in parts if text]
    while len(shown) > 1 and sum(width(text) + len(_GAP) for _, _, text in shown) - len(_GAP) >= columns:
        shown.remove(max(shown, key=lambda part: part[0]))
    row: list[Fragment] = []
    for _, role, text in shown:
        row += [("bar", _GAP if row else ""), (role, cut(text, columns - 1))]
    return joined(row)


def queue(standing: Standing, columns: int) -> list[Row]:
    """A row for each prompt that waits; of many the first ones."""
    shown = [cut(f"  waits: {one_line(text)}", columns - 1) for text in standing.queued[:_MOST_QUEUED]]
    if len(standing.queued) > _MOST_QUEUED:
        shown.append(f"  and {len(standing.queued) - _MOST_QUEUED} more")
    return [(("muted", text),) for text in shown]


def _context(context: tuple[int, int] | None) -> str:
    if context is None:
        return ""
    used, size = context
    return f"{_thousands(used)} of {_thousands(size)}" if size else _thousands(used)


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
