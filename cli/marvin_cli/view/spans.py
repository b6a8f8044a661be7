"""What is marked within a paragraph of Markdown (CommonMark's inlines, and ~~strike~~) as styled fragments."""

from functools import cache
from typing import TYPE_CHECKING

from marvin_cli.view.cells import Fragment, Row, joined

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# A paragraph longer than this is shown as it is: to read its marks would take longer than a frame.
_LONGEST = 20_000
_OPENS = {"strong_open": "strong", "em_open": "emphasis", "s_open": "strike", "link_open": "link"}
_CLOSES = ("strong_close", "em_close", "s_close", "link_close")


def spans(text: str, role: str = "") -> Row:
    """``text`` of one paragraph, whose line ends count as blanks, with the marks taken out and shown by roles.

    A link's address follows it where it says something else. Pictures are shown by their words and address.
    """
    if len(text) > _LONGEST:
        return ((role, " ".join(text.split("\n"))),)
    fragments: list[Fragment] = []
    roles = [role] if role else []
    addresses: list[tuple[str, int]] = []
    for token in _parser().parseInline(text)[0].children or ():
        here = " ".join(roles)
        if token.type in _OPENS:
            roles.append(_OPENS[token.type])
            if token.type == "link_open":
                addresses.append((str(token.attrs.get("href", "")), len(fragments)))
        elif token.type in _CLOSES:
            roles.pop()
            if token.type == "link_close":
                address, first = addresses.pop()
                said = "".join(words for _, words in fragments[first:])
                if address.removeprefix("mailto:") != said:
                    fragments.append((" ".join([*roles, "muted"]), f" ({address})"))
        elif token.type == "code_inline":
            fragments.append((" ".join([*roles, "mark"]), token.content))
        elif token.type == "softbreak":
            fragments.append((here, " "))
        elif token.type == "hardbreak":
            fragments.append((here, "\n"))
        elif token.type == "image":
            fragments.append((here, f"[{token.content or 'picture'}] ({token.attrs.get('src', '')})"))
        else:
            fragments.append((here, token.content))
    return joined(fragments)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("strikethrough")
    # Addresses are shown, not followed: as they were written.
    vars(parser).update(normalizeLink=str, normalizeLinkText=str)
    return parser
