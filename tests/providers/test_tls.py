"""TLS on loopback, with certificates that the openssl command makes."""

import asyncio
import gc
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from marvin_server import certificates
from marvin_server.errors import TimedOut, Unreachable
from marvin_server.providers.transport import Transport
from tests.patience import SECONDS
from tests.providers.raw_server import read_request, serving
from tests.servers.authority import Authority, openssl

pytestmark = pytest.mark.skipif(
    not shutil.which("openssl") and not os.environ.get("CI"), reason="the openssl command is not installed"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@dataclass
class Seen:
    """What a server has learned of its clients."""

    requests: int = 0
    protocol: str | None = None

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.protocol = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        while True:
            body = (await read_request(reader)).partition(b"\r\n\r\n")[2]
            self.requests += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


def transport() -> Transport:
    return Transport(request_timeout=SECONDS, stall_timeout=SECONDS)


async def post(client: Transport, url: str, body: bytes) -> bytes:
    async with client.post(url, {}, body) as response:
        answer = b""
        while chunk := await response.read():
            answer += chunk
        return answer


async def test_a_host_whose_authority_is_trusted_is_spoken_to_over_one_kept_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    seen, body = Seen(), b"x" * 1_000_000
    async with serving(seen.talk, trust=authority.server("DNS:localhost")) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        client = transport()
        await client.connect(url)
        assert [await post(client, url, body), await post(client, url, b"")] == [body, b""]
        assert (server.connections, seen) == (1, Seen(requests=2, protocol="http/1.1"))
        await client.aclose()
        await server.wait_until(lambda: server.ended == 1)


async def test_a_folder_of_trusted_certificates_is_enough(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copy(authority.certificate, tmp_path)
    openssl(tmp_path, "rehash .")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with serving(Seen().talk, trust=authority.server("IP:127.0.0.1")) as server:
        client = transport()
        assert await post(client, server.url, b"hello") == b"hello"
        await client.aclose()


async def test_a_certificate_that_nobody_vouches_for_is_refused_with_what_to_do(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    seen = Seen()
    async with serving(seen.talk, trust=authority.server("IP:127.0.0.1")) as server:
        client = transport()
        with pytest.raises(Unreachable, match=r"its certificate is refused .*SSL_CERT_FILE"):
            await post(client, server.url, b"secret")
        assert seen.requests == 0
        await client.aclose()


async def test_a_certificate_for_another_host_is_refused(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    seen = Seen()
    async with serving(seen.talk, trust=authority.server("DNS:other.example")) as server:
        client = transport()
        with pytest.raises(Unreachable, match=r"certificate is refused .*mismatch"):
            await post(client, server.url, b"secret")
        assert seen.requests == 0
        await client.aclose()


@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_certificates_that_cannot_be_read_are_named(
    text: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "company.pem"
    if text:
        file.write_text(text)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    async with serving(Seen().talk) as server:
        with pytest.raises(Unreachable, match=r"company\.pem cannot be read"):
            await post(transport(), server.url.replace("http:", "https:"), b"")


async def test_certificates_and_a_host_that_both_fail_are_one_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    async with serving(Seen().talk) as server:
        url = server.url.replace("http:", "https:")
    with pytest.raises(Unreachable, match=r"^cannot reach"):
        await post(transport(), url, b"")
    gc.collect()
    assert caplog.records == []


async def test_a_server_that_falls_silent_during_the_handshake_times_out() -> None:
    async def listen(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(listen) as server:
        client = Transport(request_timeout=0.2, stall_timeout=5)
        with pytest.raises((Unreachable, TimedOut), match=r"no connection within|request_timeout"):
            await post(client, server.url.replace("http:", "https:"), b"")
        await server.wait_until(lambda: server.ended == 1)
        await client.aclose()


def test_where_the_system_has_no_certificates_those_of_certifi_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", "")
    assert certificates.context().cert_store_stats()["x509_ca"] > 50
