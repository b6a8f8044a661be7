"""What a question in plain English asks for: its terms, and the files that it names."""

import re

from msgspec import Struct

MAX_TERMS = 6
_READ_CHARACTERS = 2_000

_STOP = """
a about above after again all also am an and any are aren't as at be because been before being below between both
but by can could did do does doing don't down during each else explain few find for from further get gets give go
goes had happen happens has have having he her here hers him his how i if in into is isn't it its itself just kind
know let like located locate look looking lives live made make makes many marvin me mean means more most much my
need no nor not now of off on once one ones only or other our out over own part piece place please same second
see she should show so some such tell than thanks that the their them then there these they thing things third
this those through to too under until up us use used uses using very want was we were what what's when where
where's which while who who's whom whose why will with would you your yours everything exactly actually describe
find first somewhere anything something work works working responsible come comes hello hi hey
"""
_WEAK = """
call called calls class classes code codebase definition directory function functions line lines logic method methods
module name package project repo repository run set source take takes type types value variable
"""
_FILLING = """
compute computed computes decide decided decides declaration declared define defined defines do file files folder handle
handled handles happening implement implementation implemented implements written
"""
_FOLLOWS = r"(?i)\s*(?:and|or|but|also|what about|how about|what else|where else|the other|why|it|that)\b"
_STOP_WORDS = frozenset(_STOP.split())
_WEIGHTS = {**dict.fromkeys(_WEAK.split(), 0.4), **dict.fromkeys(_FILLING.split(), 0.2)}
_PATH = r"(?<![\w./-])((?:[\w.@+-]+/)*(?:[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,5}|Makefile|Dockerfile|README))(?![\w/(])"
_QUOTED = r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)"
_WORD = r"[^\W\d_][\w'-]*|_\w+|\b\d{2,}\b"
_PIECE = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_SUFFIXES = (
    "c cc clj conf cpp cs css csv el ex go h hpp hs html ini java js json jsx kt lock lua md ml php pl proto py pyi "
    "r rb rs rst scala sh sql swift tf toml ts tsx txt vim vue xml yaml yml zig"
)
_EXTENSIONS = frozenset(_SUFFIXES.split())


class Term(Struct, frozen=True):
    """A word to look for. ``pattern`` is a regular expression that Python and ripgrep both read, case decided in it."""

    word: str
    pattern: str
    weight: float = 1.0


class Question(Struct, frozen=True):
    """``terms`` are in the order of the ``text``; ``paths`` are words that look like file names."""

    text: str
    terms: tuple[Term, ...]
    paths: tuple[str, ...] = ()

    def mentions(self, stem: str) -> bool:
        """Whether a term begins with ``stem``, in lower case."""
        return any(term.word.lower().startswith(stem) for term in self.terms)

    def is_echoed_by(self, line: str) -> bool:
        """Whether a line of a file only repeats the question, as an example in a manual does."""
        own = self.text.lower().strip(" ?!.")[:80]
        return len(own) > 20 and own in line.lower()


def read_question(text: str, earlier: str = "") -> Question:
    """The terms of ``text``; those of the ``earlier`` prompt count half when ``text`` only goes on from it."""
    text = text[:_READ_CHARACTERS].replace("\u2019", "'").strip()
    beginning = text.split("\n\n", 1)[0]
    text = asked = beginning if _terms(beginning) else text
    paths = tuple(dict.fromkeys(match[1] for match in re.finditer(_PATH, text) if _is_path(match[1])))
    for path in paths:
        text = text.replace(path, " ")
    terms = {term.pattern: term for term in _terms(text)}
    if earlier and re.match(_FOLLOWS, text) and len(terms) < 3:
        for term in read_question(earlier).terms:
            terms.setdefault(term.pattern, Term(term.word, term.pattern, term.weight / 2))
    strongest = sorted(terms.values(), key=lambda term: -term.weight)[:MAX_TERMS]
    known = sum(term.weight for term in strongest)
    needed = 0.5 if known >= 2 else 0.3 if known >= 1 else 0.0
    strongest = [term for term in strongest if term.weight >= needed]
    return Question(asked, tuple(term for term in terms.values() if term in strongest), paths)


def _is_path(word: str) -> bool:
    return "." not in word or word.rpartition(".")[2].lower() in _EXTENSIONS


def _terms(text: str) -> list[Term]:
    terms: list[Term] = []
    for match in re.finditer(_QUOTED, text):
        quoted = next(group for group in match.groups() if group)
        terms.append(Term(quoted, literal_pattern(quoted), 2.0))
    for match in re.finditer(_WORD, re.sub(_QUOTED, " ", text)):
        word = match[0].rstrip("'-").removesuffix("'s")
        if is_identifier(word):
            terms.append(Term(word, identifier_pattern(word), 2.0))
            continue
        lowered = word.lower()
        if len(word) > 1 and lowered not in _STOP_WORDS:
            terms.append(Term(word, word_pattern(lowered), _WEIGHTS.get(lowered, 1.0)))
    return terms


def literal_pattern(text: str) -> str:
    """Matches exactly ``text``; unlike ``re.escape``, it writes no escape that ripgrep does not know."""
    return re.sub(r"[\\.^$*+?{}\[\]|()]", r"\\\g<0>", text)


def is_identifier(word: str) -> bool:
    """Whether ``word`` is written as only code writes words: snake_case, camelCase, PascalCase or SHOUTING_CASE."""
    return "_" in word or re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}", word) is not None


def identifier_pattern(word: str) -> str:
    """Matches ``word`` in any case and with any joints: retry_after, RetryAfter, retry-after."""
    return "(?i:" + "[-_ ]?".join(literal_pattern(piece) for piece in re.findall(_PIECE, word) or [word]) + ")"


def word_pattern(word: str) -> str:
    """Matches the forms of the lower-case English ``word`` where a word, or a part of an identifier, begins."""
    *parts, last = word.split("-")
    stem = "".join(f"{part}[-_ ]?" for part in parts) + _stem(last)
    capital = stem[0].upper() + stem[1:]
    return rf"(?:\b|_)(?i:{stem})|[a-z0-9]{capital}"


def _stem(word: str) -> str:
    """What the forms of ``word`` have in common, as a pattern; deliberately simpler than Porter's rules."""
    word = literal_pattern(word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "(?:y|ie)"
    if len(word) > 3 and word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "(?:y|ie)"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, least in (("ion", 7), ("ing", 6), ("ed", 5)):
        if len(word) >= least and word.endswith(ending):
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            return word
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
