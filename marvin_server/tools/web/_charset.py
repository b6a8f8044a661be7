"""Which characters a page's bytes are."""

import codecs
import re

_SAMPLE = 2048
_DECLARED = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
# Python knows more codecs than the web: some that are slow, and some that are no characters at all.
_OF_THE_WEB = re.compile(
    r"utf[-_]?(8|16)([-_][bl]e)?|ascii|iso8859-\d+|cp(125\d|866|874|932|949|950)|koi8-[ru]|mac-(roman|cyrillic)"
    r"|gb(k|2312|18030)|big5(hkscs)?|euc_(jp|kr)|shift_jis|iso2022_jp"
)
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode(body: bytes, content_type: str, *, is_whole: bool) -> str:
    """The text of ``body``; never fails.

    By its byte order mark, else what ``content_type`` says, else what the page says of itself, else UTF-8 where it is
    that and Windows-1252 where not, as browsers do (WHATWG Encoding). Unless it ``is_whole``, it may end in the midst
    of a character.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    named = _HEADER.search(content_type)
    declared = _DECLARED.search(body[:_SAMPLE])
    for label in (named and named[1], declared and declared[1].decode("ascii")):
        if label and (encoding := _encoding(label)):
            return body.decode(encoding, "replace")
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(body, final=is_whole)
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _encoding(label: str) -> str | None:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return None
    return _WIDER.get(name, name) if _OF_THE_WEB.fullmatch(name) else None
