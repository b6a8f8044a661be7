"""What kind of answer a prompt wants, when it is no plain instruction."""

import re

_WORK = (
    r"(?i)\s*(?:(?:please|marvin|hey|hi|hello|(?:can|could|would|will) you|i want you to|i'd like you to)[, ]+)*"
    r"(?:write|fix|refactor|implement|translate|improve|generate|optimi[sz]e|design|build|review|summari[sz]e|add|make"
    r"|create|change|rename|replace|remove|delete|move|convert|port|update|upgrade|install|sing|play|say|debug|solve"
    r"|document|format|clean|simplify|rewrite|run|test|commit|push|deploy|hello|hi|hey|thanks|thank)\b"
)
_OVERVIEW = (
    r"(?i)(?:what(?:'s| is| does| are)|how is|tell me about|explain|describe|(?:give me )?an overview of|overview of"
    r"|summari[sz]e)\s+"
    r"(?:(?:in|the|this|here|current|whole|about|files|all)\s+)*"
    r"(?:project|repo|repository|workspace|codebase|code base|directory|folder|package|here)"
    r"(?: (?:do|all|about|for|contain|like|look|structured|organi[sz]ed|good|here))*"
    r"|(?:an? )?overview"
)
_FOREIGN_WORDS = """
wo ist sind der das und nicht bitte ich wie kannst könntest ein eine zeige zeig erstelle führe aus datei welche
ersetze durch warum wer wird werden finde öffne lösche schreibe auf
où les une dans pour quel quelle quels quelles je tu peux peut montre exécute lance fichier et sont
remplace plaît des crée ouvre trouve pourquoi qui fais avec
"""


def is_question(text: str) -> bool:
    """Whether ``text`` can be answered by quoting the workspace, rather than by work that needs a model."""
    return re.match(_WORK, text) is None


def is_overview(text: str) -> bool:
    """Whether ``text`` asks what the project as a whole is."""
    return re.fullmatch(_OVERVIEW, text.strip().rstrip("?!. ")) is not None


def is_foreign(text: str) -> bool:
    """Whether ``text`` is German or French, by the words that hold a sentence together."""
    return len(set(re.findall(r"\w+", text[:2_000].lower())) & set(_FOREIGN_WORDS.split())) >= 2
