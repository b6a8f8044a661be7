"""The readable text of a web page, as Markdown. A script: it imports nothing of Marvin.

Standard input: the page's URL on one line, then its HTML, in UTF-8. Standard output: the text. Being a process, it can
be ended, whatever a page does to its parser. With trafilatura (the extra ``web``) it is the page's main text, without
menus and footers; without that, or where that finds little, all text.
"""

import importlib
import re
import sys
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

_SECONDS = 20
_MEMORY = 2**30
_UNSEEN = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "select", "head", "title")
)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary"),
        *("table", "tr", "ul"),
    )
)
_HEADING = re.compile("h[1-6]")
_DEEPEST = 500
# With fewer characters than these a page is no article, and its menus may be what it is for.
_ARTICLE = 500


class PlainText(HTMLParser):
    """All the text that a reader would see, with headings, lists, links and code marked."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._written: list[str] = []
        self._unseen: list[str] = []
        self._link: tuple[int, str] | None = None
        self._preformatted = 0

    def text(self) -> str:
        """What was read so far; no more than one empty line in a row."""
        return re.sub(r"[ \t]*\n(?:[ \t]*\n)+", "\n\n", "".join(self._written)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a link, or a part that is not seen."""
        if self._unseen or tag in _UNSEEN:
            if tag in _UNSEEN and len(self._unseen) < _DEEPEST:
                self._unseen.append(tag)
            return
        fields = dict(attrs)
        if tag == "br":
            self._written.append("\n")
        elif tag == "img" and fields.get("alt"):
            self._written.append(f"![{fields['alt']}]")
        elif tag in ("td", "th"):
            self._written.append(" | ")
        elif tag == "a" and fields.get("href"):
            self._link = len(self._written), fields["href"] or ""
        elif _HEADING.fullmatch(tag):
            self._written.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag in _BLOCKS:
            self._written.append({"li": "\n- ", "pre": "\n\n```\n", "tr": "\n"}.get(tag, "\n\n"))
            self._preformatted += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        """End what ``handle_starttag`` began."""
        if self._unseen:
            if tag in self._unseen:
                del self._unseen[self._unseen.index(tag) :]
        elif tag == "a" and self._link:
            start, target = self._link
            self._link = None
            shown = " ".join("".join(self._written[start:]).split())
            with suppress(ValueError):
                target = urljoin(self._base, target)
            if shown and not target.startswith("javascript:"):
                self._written[start:] = [f"[{shown}]({target.replace(' ', '%20')})"]
        elif tag == "pre" and self._preformatted:
            self._preformatted -= 1
            self._written[-1] = self._written[-1].rstrip()
            self._written.append("\n```\n\n")
        elif (tag in _BLOCKS or _HEADING.fullmatch(tag)) and tag not in ("li", "tr"):
            self._written.append("\n\n")

    def handle_data(self, data: str) -> None:
        """Text between tags."""
        if self._unseen:
            return
        if not self._preformatted:
            data = re.sub(r"\s+", " ", data)
            if not self._written or self._written[-1].endswith("\n"):
                data = data.lstrip()
        self._written.append(data)


def main() -> None:
    """Read a page, write its text."""
    _limit()
    url = sys.stdin.buffer.readline().decode().strip()
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    text = _main_text(html, url)
    if len(text) < _ARTICLE:
        page = PlainText(url)
        page.feed(html)
        page.close()
        text = page.text()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _main_text(html: str, url: str) -> str:
    try:
        trafilatura: Any = importlib.import_module("trafilatura")
    except ImportError:
        return ""
    text = trafilatura.extract(
        html, url=url, output_format="markdown", include_links=True, include_comments=False, favor_recall=True
    )
    return text or ""


def _limit() -> None:
    """A page that is made to take for ever, or to fill the memory, ends this process alone."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    main()
