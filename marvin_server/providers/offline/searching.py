"""Answering a question: a survey by searches, a ranking, and quotations of the best places."""

import re
from collections.abc import Sequence
from itertools import combinations

from marvin_server.providers.offline.markdown import code, fence, language
from marvin_server.providers.offline.question import Question
from marvin_server.providers.offline.ranking import DEFINITION, Passage, rank
from marvin_server.providers.offline.results import Hit, explain, read_excerpt, read_hits
from marvin_server.providers.offline.turn import Call, Outcome, Plan, ask

QUOTES = 3
OTHERS = 6
NO_MODEL = (
    "I am Marvin's offline search, not a language model: these places are ranked by the words of your question, "
    "not understood. For a model's answer set a key; `marvin doctor` says how."
)
_README = r"(?i)(?<![\w/.-])README(?:\.(?:md|rst|txt|org|adoc))?(?![\w/.])"


def survey(question: Question, path: str | None = None) -> list[Call]:
    """Two searches, side by side: for the best evidence, which must not be crowded out, and for any term at all."""
    patterns = [term.pattern for term in question.terms]
    anywhere = "|".join(f"(?:{pattern})" for pattern in patterns)
    pairs = [f"(?:{a}).*(?:{b})|(?:{b}).*(?:{a})" for a, b in combinations(patterns, 2)]
    searches = ("|".join([rf"{DEFINITION}\w*(?:{anywhere})", *pairs]), anywhere)
    place = {} if path is None else {"path": path}
    return [Call("code_grep", {"pattern": pattern, **place}) for pattern in searches]


def answer(question: Question) -> Plan:
    """Find, rank and quote the places that ``question`` is about."""
    outcomes = yield survey(question)
    if not any(outcome.ok for outcome in outcomes):
        return f"I could not search the workspace: {explain(outcomes[0])}"
    passages = rank(question, [hit for outcome in outcomes for hit in read_hits(outcome)])
    words = ", ".join(code(term.word) for term in question.terms)
    if not passages:
        return (
            f"Nothing in this workspace mentions {words}; I searched every file that is not ignored. "
            f"Try a word that the code itself would use, or `list files` to see what is here.\n\n{NO_MODEL}"
        )
    best = [passage for passage in passages[:QUOTES] if passage.score >= 0.4 * passages[0].score]
    quotes = yield [_reading(passage) for passage in best]
    lead = (
        f"The best places for {words}, best first:"
        if best[0].share > 0.75
        else f"No single place has all of {words}; these come closest:"
    )
    parts = [lead, *(_quotation(passage, outcome) for passage, outcome in zip(best, quotes, strict=True))]
    if others := passages[len(best) : len(best) + OTHERS]:
        parts.append("Other places:\n\n" + "\n".join(f"- `{place.path}:{place.line}`" for place in others))
    return "\n\n".join([*parts, NO_MODEL])


def explain_file(path: str, question: Question) -> Plan:
    """The outline of a file that the question names, and its head, or its best place for the question's terms."""
    found = yield from ask("code_grep", pattern=rf"{DEFINITION}|^#{{1,3}} ", glob=f"**/{path}")
    hits = read_hits(found)
    places = list(dict.fromkeys(hit.path for hit in hits))
    place = path if not places or path in places else places[0]
    outline = [hit for hit in hits if hit.path == place]
    line = 1
    if question.terms:
        outcomes = yield survey(question, place)
        passages = rank(question, [hit for outcome in outcomes for hit in read_hits(outcome)])
        line = passages[0].line if passages else 1
    start = max(1, line - 5)
    head = yield from ask("read_file", path=place, start_line=start, end_line=start + (29 if line > 1 else 39))
    if not head.ok:
        return f"I could not read {code(place)}: {explain(head)}"
    text = read_excerpt(head).lines
    parts = [f"`{place}:{start}`, {'where the words of your question are' if line > 1 else 'its head'}:"]
    parts.append(fence("\n".join(text), language(place)))
    if outline:
        parts.append("What it defines:\n\n" + _outline(outline))
    if len(places) > 1:
        parts.append("Files of that name: " + ", ".join(code(other) for other in places))
    return "\n\n".join([*parts, NO_MODEL])


def overview() -> Plan:
    """What the project says of itself, and its tree."""
    listing = yield from ask("tree", depth=2)
    if not listing.ok:
        return f"I could not list the workspace: {explain(listing)}"
    parts: list[str] = []
    if readme := re.search(_README, listing.text):
        head = yield from ask("read_file", path=readme[0], start_line=1, end_line=60)
        if head.ok:
            parts.append(f"From `{readme[0]}`:\n\n{fence(_opening(read_excerpt(head).lines), language(readme[0]))}")
    parts.append(f"{'The' if parts else 'There is no README; the'} tree:\n\n{fence(listing.text)}")
    return "\n\n".join([*parts, NO_MODEL])


def _outline(hits: Sequence[Hit]) -> str:
    shown = [f"- `{hit.path}:{hit.line}` {code(hit.text.strip())}" for hit in hits[:30]]
    return "\n".join([*shown, f"- … and {len(hits) - 30} more"] if len(hits) > 30 else shown)


def _opening(lines: Sequence[str]) -> str:
    """The first paragraphs: up to the second heading, 25 lines at most."""
    for index, line in enumerate(lines[1:25], start=1):
        if line.startswith("## ") or (index > 3 and re.match(r"[=-]{3,}$", line)):
            return "\n".join(lines[: index if line.startswith("## ") else index - 1]).rstrip()
    return "\n".join(lines[:25]).rstrip()


def _reading(passage: Passage) -> Call:
    before, after = (3, 24) if passage.is_definition else (6, 10)
    start = max(1, passage.line - before)
    return Call("read_file", {"path": passage.path, "start_line": start, "end_line": passage.line + after})


def _quotation(passage: Passage, outcome: Outcome) -> str:
    """A passage under the path and number of its first line; another line that it is about is named."""
    if not outcome.ok:
        return f"`{passage.path}:{passage.line}` ({' '.join(explain(outcome).split())[:200]})"
    excerpt = read_excerpt(outcome)
    lines = excerpt.lines
    first, last = 0, len(lines)
    if passage.is_definition:
        first, last = _block(lines, passage.line - excerpt.start)
    while first < last and not lines[first].strip():
        first += 1
    number = excerpt.start + first
    place = f"`{passage.path}:{number}`" + (f" (see line {passage.line})" if number != passage.line else "")
    quote = "\n".join(lines[first:last]).rstrip()
    return f"{place}\n\n{fence(quote, language(passage.path))}"


def _block(lines: Sequence[str], index: int) -> tuple[int, int]:
    """Where the definition at ``index`` begins, with what directly precedes it, and where its indentation ends."""
    if index >= len(lines):
        return 0, len(lines)
    depth = _indent(lines[index])
    first = index
    while first and lines[first - 1].strip() and _indent(lines[first - 1]) == depth:
        first -= 1
    last = index + 1
    while last < len(lines):
        line = lines[last]
        if line.strip() and _indent(line) <= depth and line.strip()[0] not in ")]}":
            break
        last += 1
    return first, last if last - index > 1 else index + 8


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
