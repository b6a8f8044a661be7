"""Which certificates are trusted."""

import os
import ssl
from pathlib import Path


def context() -> ssl.SSLContext:
    """A TLS context for HTTP/1.1 that checks certificates and host names; reading the certificates takes about 36 ms.

    ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` replace the system's certificates; certifi's stand in where the system has
    none. Raises ``OSError`` when the certificates cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file or folder:
        trusted = ssl.create_default_context(cafile=file or None, capath=folder or None)
    else:
        trusted = ssl.create_default_context()
        if not (trusted.cert_store_stats()["x509_ca"] or _has_folder()):
            import certifi

            trusted.load_verify_locations(certifi.where())
    trusted.set_alpn_protocols(["http/1.1"])
    return trusted


def _has_folder() -> bool:
    """Whether there is a system folder of certificates, which OpenSSL reads only when it looks for one."""
    folder = ssl.get_default_verify_paths().capath
    return bool(folder) and any(Path(folder).iterdir())
