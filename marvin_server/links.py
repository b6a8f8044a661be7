"""Links that say where they go: for Markdown from models, tools and the web, before it is rendered."""

import re
import unicodedata
from urllib.parse import urlsplit

_ADDRESS = r"<?(?P<{0}>[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?"
_TITLE = r"""(?:\s++(?:"[^"]*"|'[^']*'|\([^()]*\)))?"""
_DEFINITION = re.compile(r"^ {0,3}\[(?P<name>[^\[\]\n]{1,300})\]:\s{0,20}" + _ADDRESS.format("target"), re.MULTILINE)
_LINK = re.compile(
    r"\[(?P<text>[^\[\]]{1,1000})\]"
    rf"(?:\(\s*+{_ADDRESS.format('inline')}{_TITLE}\s*+\)|\[(?P<name>[^\[\]\n]{{0,300}})\]|(?![\[(:]))"
)
_URL = re.compile(r"\b(?P<scheme>https?:/{2})(?P<authority>[^\s/?#<>()\[\]\"'`\\]+)", re.IGNORECASE)
_WHOLE_URL = re.compile(rf"{_URL.pattern}\S*", re.IGNORECASE)
_NAME = re.compile(r"(?P<host>(?:[\w-]{1,63}[.。．｡]){1,20}[^\W\d_]{2,24})(?!\w)(?:[/?#]\S*)?")
# Endings of files that could be those of hosts.
_FILES = frozenset(
    (
        *("c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "el", "go", "gz", "h", "hpp", "html", "ini", "java"),
        *("jpg", "js", "json", "jsx", "kt", "lock", "log", "lua", "md", "mk", "mod", "pdf", "php", "pl", "png", "py"),
        *("pyi", "rb", "rs", "rst", "sh", "so", "sql", "svg", "swift", "toml", "ts", "tsx", "txt", "vim", "xml"),
        *("yaml", "yml", "zip"),
    )
)
_AUTHORITY = re.compile(r"\A([^/?#]*+//)([^/?#]*+)")
_DOTS = frozenset(".。．｡")
_LABEL_ENDS = re.compile(r"([.。．｡@:])")
_LONGEST_LABEL = 63  # characters (RFC 1035); making a longer one into Punycode takes quadratic time, and no host has it
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def honest_links(markdown: str) -> str:
    """``markdown`` in which a link whose text names another host than it leads to is followed by the true one.

    ``[https://good.example](https://evil.example)`` gets `` ⟨goes to evil.example⟩`` behind it; so do reference links.
    Hosts with letters beyond ASCII, which may look like others, are written in Punycode (RFC 3492).
    Code is no exception: what one reader takes for code is a link for another. Twice is as once.
    """
    markdown = _URL.sub(lambda url: url["scheme"] + _in_ascii(url["authority"]), markdown)
    targets = {_key(found["name"]): found["target"] for found in _DEFINITION.finditer(markdown)}

    def told(link: re.Match[str]) -> str:
        text = link["text"]
        target = link["inline"] or targets.get(_key(link["name"] or text), "")
        note = _note(text, target) if target else ""
        return link[0] if not note or markdown.startswith(note, link.end()) else link[0] + note

    return _LINK.sub(told, markdown)


def _note(text: str, target: str) -> str:
    """What has to be said of a link, empty when its text is honest or names no host."""
    true = _host(target)
    claimed = {_host(url[0]) for url in _WHOLE_URL.finditer(text)}
    if _SCHEME.match(target) or true:
        names = (_plain(name["host"]) for name in _NAME.finditer(_WHOLE_URL.sub("", text)))
        claimed |= {name for name in names if name.rpartition(".")[2] not in _FILES}
    if target.startswith("mailto:"):
        true = _plain(target.rpartition("@")[2])
    return "" if claimed <= {true} else f" ⟨goes to {true or target[:100]}⟩"


def _host(url: str) -> str:
    try:
        return _plain(urlsplit(_AUTHORITY.sub(lambda start: start[1] + _in_ascii(start[2]), url)).hostname or "")
    except ValueError:
        return ""


def _plain(host: str) -> str:
    return _in_ascii(host).lower().rstrip(".").removeprefix("www.")


def _in_ascii(authority: str) -> str:
    if authority.isascii():
        return authority
    return "".join(map(_label_in_ascii, _LABEL_ENDS.split(authority)))


def _label_in_ascii(label: str) -> str:
    if label in _DOTS:
        return "."
    if label.isascii():
        return label
    if len(label) > _LONGEST_LABEL:
        return label.encode("ascii", "backslashreplace").decode()
    parts = unicodedata.normalize("NFKC", label).lower().split(".")
    return ".".join(part if part.isascii() else f"xn--{part.encode('punycode', 'replace').decode()}" for part in parts)


def _key(name: str) -> str:
    """Names of references are compared without case and with single blanks (CommonMark 4.7)."""
    return " ".join(name.split()).casefold()
