"""Which addresses and URLs the web tools go to at all."""

from collections.abc import Sequence
from ipaddress import IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_server.errors import ToolError
from marvin_server.tools.web._addresses import Address, is_public
from marvin_server.tools.web._reach import Reach
from marvin_server.tools.web._target import read

NAT64 = IPv6Network("64:ff9b::/96")
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0 198.51.99.255 203.0.112.255 203.0.114.0 223.255.255.255 168.63.129.15
2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001:80b::200e 2400:cb00::1 2001:200::1 2620:fe::fe
::ffff:8.8.8.8 64:ff9b::808:808 64:ff9b::93.184.215.14
"""

SPECIAL = """
0.0.0.0 0.1.2.3 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255
127.0.0.1 127.0.0.53 127.1.1.1 127.255.255.255 168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2
169.254.255.255 172.16.0.0 172.17.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 192.0.2.1
192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.1.1 192.168.255.255 192.175.48.1 198.18.0.1
198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 224.0.0.251 239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 ::2 ::7f00:1 ::127.0.0.1 ::8.8.8.8 ::ffff:0:7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
::ffff:0.0.0.0 ::ffff:192.168.1.1 ::ffff:224.0.0.1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::1 64:ff9b:1::808:808
2002:7f00:1:: 2002:a00:1:: 2002:808:808:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001::1 2001:10::1 2001:20::1
2001:db8::1 2001:db8:ffff::1 3fff::1 3ffe::1 2620:4f:8000::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1 fe80::5efe:c0a8:101
fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 ff0e::1
100::1 5f00::1 4000::1 8000::1 e000::1 2606:4700:4700::1111%eth0
"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", SPECIAL.split())
def test_a_private_or_special_address_is_not(address: str) -> None:
    assert not is_public(ip_address(address))


@given(st.ip_addresses())
def test_nothing_that_python_knows_to_be_local_is_public(address: Address) -> None:
    local = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    translated = isinstance(address, IPv6Address) and (address.ipv4_mapped or address in NAT64)
    assert not (is_public(address) and (local or address.is_reserved) and not translated)


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}"]))
def test_an_address_that_stands_for_another_is_as_public_as_that(address: Address, form: str) -> None:
    assert is_public(ip_address(form.format(address))) == is_public(address)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://example.com", "https://example.com/"),
        ("example.com/a?b=c#d", "https://example.com/a?b=c"),
        ("  http://EXAMPLE.com.:80/ ", "http://example.com/"),
        ("localhost:8080/x", "https://localhost:8080/x"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("https://example.com?q=1", "https://example.com/?q=1"),
        ("https://example.com/a b?c d", "https://example.com/a%20b?c%20d"),
        ("https://bücher.example/ü?q=ü", "https://xn--bcher-kva.example/%C3%BC?q=%C3%BC"),
        ("https://example.com/%C3%BC%2F", "https://example.com/%C3%BC%2F"),
        ("https://my_host.example.com/", "https://my_host.example.com/"),
        ("https://exam\u00adple.com/", "https://example.com/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://①②⑦.０.0.1/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
    ],
)
def test_a_url_has_one_reading(url: str, asked: str) -> None:
    assert read(url).url == asked
    assert read(asked).url == asked


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        *(
            (f"http://{host}/", "four plain numbers")
            for host in ("2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1")
        ),
        *(
            (f"http://{host}/", "four plain numbers")
            for host in ("017700000001", "127.1", "127.0.1", "0", "127.0.0.1.5")
        ),
        *(
            (f"http://{host}/", "four plain numbers")
            for host in ("256.0.0.1", "1.2.3.0x4", "%31%32%37.0.0.1", "evil.0x", "２１３０７０６４３３")
        ),
        *(
            (f"http://{host}/", "a login")
            for host in ("me@127.0.0.1", "good.example@evil.example", "a:b@c.example", "@x.example")
        ),
        *(
            (url, "only http:// and https://")
            for url in ("file:///etc/passwd", "ftp://x.example", "gopher://x.example")
        ),
        *(
            (url, "only http:// and https://")
            for url in ("javascript:alert(1)", "data:text/html,x", "unix:/run/docker.sock")
        ),
        *((f"http://x.example:{port}/", "not one of the web's") for port in (0, 22, 25, 110, 445, 1023)),
        *((url, "names no host") for url in ("", "http://", "http:///x", "https://:80/", "//x.example/")),
        *(
            (f"http://{host}/", "no valid")
            for host in ("%31.example", "a..b", "-a.example", "x" * 64, "[1.2.3.4]", "[::1")
        ),
        *(
            (f"http://{host}/", "no valid")
            for host in ("ex ample.com", "a,b", "[v1.x]", "x:99999", "x:y", "ä" * 80, "\u2024.example")
        ),
        *(
            (url, "belongs in no URL")
            for url in ("http://x.example\\@evil.example", "http://x\r\nHost: y/", "http://x/\tz", "http://x/\x7f")
        ),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_read(url: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        read(url)


@given(st.text())
def test_any_text_is_a_target_or_an_error(text: str) -> None:
    try:
        target = read(text)
    except ToolError:
        return
    assert read(target.url) == target
    assert target.url.isascii()


def at(*addresses: str) -> Reach:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return Reach(frozenset({"wiki.corp.example"}), resolve=resolve)


async def test_a_name_with_public_addresses_only_is_reached_there() -> None:
    found = await at("93.184.215.14", "2606:4700::1", "93.184.215.14").addresses(read("example.com"))
    assert list(map(str, found)) == ["93.184.215.14", "2606:4700::1"]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1%2", "::ffff:10.0.0.1"])
async def test_a_name_is_refused_when_any_of_its_addresses_is_private(address: str) -> None:
    with pytest.raises(ToolError, match=r"example\.com is not read: it is at the private .* web_allow"):
        await at("93.184.215.14", address).addresses(read("example.com"))


async def test_an_address_in_a_url_is_checked_and_never_looked_up() -> None:
    reach = at("127.0.0.1")
    assert list(map(str, await reach.addresses(read("http://8.8.8.8/")))) == ["8.8.8.8"]
    with pytest.raises(ToolError, match="a private or special address"):
        await reach.addresses(read("http://169.254.169.254/latest/meta-data/"))


async def test_a_host_that_the_person_allows_may_be_anywhere_and_no_other() -> None:
    reach = at("10.0.0.7")
    assert list(map(str, await reach.addresses(read("http://WIKI.corp.example.:8080/")))) == ["10.0.0.7"]
    for other in ("corp.example", "evil.wiki.corp.example", "wiki.corp.example.evil.example"):
        with pytest.raises(ToolError, match="web_allow"):
            await reach.addresses(read(other))


def test_allowed_addresses_count_in_any_form() -> None:
    assert Reach.allowing(["FD00::0:1", "10.0.0.7", "Wiki.Corp"]).hosts == {"fd00::1", "10.0.0.7", "wiki.corp"}


async def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(ToolError, match=r"^nowhere\.example cannot be found"):
        await at().addresses(read("nowhere.example"))
    with pytest.raises(ToolError, match=r"^x\.invalid cannot be found"):
        await Reach().addresses(read("x.invalid"))


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://10.0.0.1/", "localhost", "a.localhost"])
def test_by_way_of_a_proxy_what_is_private_as_it_stands_is_refused(url: str) -> None:
    with pytest.raises(ToolError, match="web_allow"):
        Reach().check_name(read(url))
    Reach.allowing([read(url).host]).check_name(read(url))
    Reach().check_name(read("https://example.com"))
