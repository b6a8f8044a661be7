"""Where the web tools may go: to the public internet, and to the hosts that the setting ``web_allow`` names."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.tools.web import _target
from marvin_server.tools.web._addresses import Address, is_public
from marvin_server.tools.web._target import Target


async def _resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, best first. Raises ``OSError``."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class Reach(Struct, frozen=True):
    """``hosts`` may be anywhere; every other host only at addresses that ``is_allowed``, by what ``resolve`` says."""

    hosts: frozenset[str] = frozenset()
    is_allowed: Callable[[Address], bool] = is_public
    resolve: Callable[[str, int], Awaitable[Sequence[str]]] = _resolve

    async def addresses(self, target: Target) -> tuple[Address, ...]:
        """The addresses to connect to, and to no others: a name is looked up once, here, and not again.

        Raises ToolError when there are none, or when any of them is not allowed.
        """
        try:
            literal = target.address
            names = [str(literal)] if literal else await self.resolve(target.host, target.port)
            found = tuple(dict.fromkeys(map(ip_address, names)))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise ToolError(f"{target.host} cannot be found ({reason or 'its address is invalid'}).") from None
        if not found:
            raise ToolError(f"{target.host} cannot be found.")
        if target.host not in self.hosts:
            for address in found:
                self._check(address, target)
        return found

    @classmethod
    def allowing(cls, hosts: Iterable[str]) -> "Reach":
        """The public internet and ``hosts``: names, and addresses in any form that a URL may have."""
        urls = (f"https://[{host}]" if ":" in host else f"https://{host}" for host in hosts)
        return cls(frozenset(_target.read(url).host for url in urls))

    def check_name(self, target: Target) -> None:
        """All that can be checked where a proxy looks names up: raises ToolError for private addresses as such."""
        if target.host in self.hosts:
            return
        if target.address:
            self._check(target.address, target)
        elif target.host == "localhost" or target.host.endswith(".localhost"):
            raise _refusal(target, "it is this machine")

    def _check(self, address: Address, target: Target) -> None:
        if not self.is_allowed(address):
            where = "a private or special address" if target.address else f"at the private or special address {address}"
            raise _refusal(target, f"it is {where}")


def _refusal(target: Target, reason: str) -> ToolError:
    return ToolError(
        f"{target.host} is not read: {reason}, not on the public internet. The person can allow this host with the "
        "setting web_allow."
    )
