"""Certificates for servers on loopback, made by the openssl command."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.patience import SECONDS

NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"


@dataclass(frozen=True)
class Authority:
    """Signs certificates; ``certificate`` is its own."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Self:
        """A new authority, whose files are kept in ``folder``."""
        (folder / "authority.cnf").write_text(
            "[req]\ndistinguished_name=name\nx509_extensions=ca\n[name]\n[ca]\nbasicConstraints=critical,CA:true\n"
            "keyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
        )
        files = "-config authority.cnf -keyout authority.key -out authority.pem"
        openssl(folder, f"req -x509 {NEW_KEY} -days 2 -subj /CN=authority {files}")
        return cls(folder)

    @property
    def certificate(self) -> Path:
        return self.folder / "authority.pem"

    def server(self, names: str) -> ssl.SSLContext:
        """What a server needs that is known by ``names``, such as ``DNS:localhost,IP:127.0.0.1``."""
        extensions = self.folder / "server.ext"
        extensions.write_text(
            f"subjectAltName=critical,{names}\nbasicConstraints=critical,CA:false\nextendedKeyUsage=serverAuth\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
        )
        openssl(self.folder, f"req {NEW_KEY} -keyout server.key -out server.csr -subj /CN=server")
        signing = "-CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile server.ext"
        openssl(self.folder, f"x509 -req {signing} -in server.csr -out server.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context


def openssl(folder: Path, command: str) -> None:
    """Run an openssl command in ``folder``."""
    subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True, timeout=SECONDS)
