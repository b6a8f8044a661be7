"""Which addresses are the public internet, and no machine of the person's own or of the network they are in."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

# IANA's special-purpose registry for IPv4, multicast, and the address where Azure's machines find their host.
_SPECIAL_4 = tuple(
    IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
)
# Of IPv6 only 2000::/3 is given out; within it these are not for hosts, or hold an IPv4 address (Teredo, 6to4).
_GLOBAL_6 = IPv6Network("2000::/3")
_SPECIAL_6 = tuple(
    IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20")
)
_TRANSLATED = IPv6Network("64:ff9b::/96")
_TUNNELLED = frozenset((0x0000_5EFE, 0x0200_5EFE))


def is_public(address: Address) -> bool:
    """Whether ``address`` is a public one; for an address that stands for an IPv4 one, whether that is."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address.ipv4_mapped:
        return is_public(address.ipv4_mapped)
    if address in _TRANSLATED:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address.scope_id or address not in _GLOBAL_6 or any(address in network for network in _SPECIAL_6):
        return False
    # ISATAP (RFC 5214) hides an IPv4 address behind a public prefix.
    return (int(address) >> 32) & 0xFFFF_FFFF not in _TUNNELLED
