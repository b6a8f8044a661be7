"""What a URL asks for, read once and strictly, so that what was checked is what is asked."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.sanitise import one_line

_PORTS = {"http": 80, "https": 443}
_NO_URL = re.compile(r"[\x00-\x20\x7f-\xa0\\]")
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_SAFE = "!$%&'()*+,/:;=?@[]~"
_LOWEST_FREE_PORT = 1024


class Target(Struct, frozen=True):
    """``host`` is an ASCII name in lower case without a final dot, or an address in its one normal form.

    ``path`` is what is asked of it, query included.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's own, as in a URL and in the field ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The host's address where the URL gives that and no name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None


def read(url: str, base: Target | None = None) -> Target:
    """The target of ``url``, which may be relative to ``base``; without one, https:// may be left out.

    Raises ToolError for what is no plain web address: another scheme, a login, a number for a host (``0x7f.1``,
    ``2130706433``), a port of another service, or characters that readers of URLs take differently.
    """
    url = url.strip().replace(" ", "%20")
    if _NO_URL.search(url):
        raise _refusal(url, "it holds a blank or another character that belongs in no URL; percent-encode it")
    try:
        whole = (
            urljoin(base.url, url) if base else url if re.match(r"[a-zA-Z][\w+.-]*:(?!\d)", url) else f"https://{url}"
        )
        parts = urlsplit(whole)
        scheme, port, host = parts.scheme, parts.port, parts.hostname
    except ValueError:
        raise _refusal(url, "it is no valid URL") from None
    if scheme not in _PORTS:
        raise _refusal(url, "only http:// and https:// can be read")
    if not host:
        raise _refusal(url, "it names no host")
    if "@" in parts.netloc:
        raise _refusal(url, "a URL with a login in it is not used; leave out what stands before the @")
    port = _PORTS[scheme] if port is None else port
    if port not in _PORTS.values() and port < _LOWEST_FREE_PORT:
        raise _refusal(url, f"port {port} is not one of the web's (80, 443, or 1024 and up)")
    path = quote(parts.path or "/", safe=_SAFE)
    if parts.query:
        path += f"?{quote(parts.query, safe=_SAFE)}"
    return Target(scheme, _plain_host(host, url, bracketed="[" in parts.netloc), port, path)


def _plain_host(host: str, url: str, *, bracketed: bool) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        if bracketed:
            raise _refusal(url, "it holds no valid address in its brackets") from None
    name = host
    if not host.isascii():
        import idna

        try:
            name = idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
        except idna.IDNAError:
            raise _refusal(url, "its host is no valid name") from None
    name = name.lower().removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        try:
            return str(IPv4Address(name))
        except ValueError:
            raise _refusal(url, "write the address of its host as four plain numbers, or give its name") from None
    if not _HOST.fullmatch(name) or len(name) > 253:
        raise _refusal(url, "its host is no valid name")
    return name


def _refusal(url: str, reason: str) -> ToolError:
    return ToolError(f"{one_line(url, 200)} is not read: {reason}.")
