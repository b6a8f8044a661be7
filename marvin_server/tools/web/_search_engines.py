"""Asks public search engines by way of ddgs (the extra ``web``). A script: it imports nothing of Marvin.

Standard input: a JSON object with ``query``, ``limit`` (results), ``engines`` (names of ddgs's, the next one is asked
only when the one before has no answer), ``seconds`` for each, ``proxy`` and ``certificates`` (a file) or null.
Standard output: a JSON object: ``engine`` and ``results``, each with ``title``, ``href`` and ``body``; or ``problems``,
one for each engine; or ``missing``: true when ddgs is not installed.
"""

import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Read what is wanted, write what was found."""
    wanted: dict[str, Any] = json.load(sys.stdin)
    try:
        ddgs: Any = importlib.import_module("ddgs")
    except ImportError:
        json.dump({"missing": True}, sys.stdout)
        return
    json.dump(_ask(ddgs, wanted), sys.stdout)


def _ask(ddgs: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    problems: list[str] = []
    for engine in wanted["engines"]:
        client = ddgs.DDGS(proxy=wanted["proxy"], timeout=wanted["seconds"], verify=wanted["certificates"] or True)
        try:
            results = client.text(wanted["query"], backend=engine, max_results=wanted["limit"])
        except Exception as error:  # whatever goes wrong inside, the next engine may answer
            problems.append(f"{engine}: {str(error).rpartition(' > ')[2]}")
        else:
            return {"engine": engine, "results": results}
    return {"problems": problems}


if __name__ == "__main__":
    main()
