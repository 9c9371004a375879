"""Access control: TLS with TF Serving's SSL config, and an optional bearer token."""

from __future__ import annotations

import hmac
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

import grpc

from seqattn_tf.serving.protos import SSLConfig
from seqattn_tf.serving.text_protos import read


@dataclass(frozen=True)
class Certificates:
    """The key and certificates for TLS in PEM form, as in TF Serving's `SSLConfig`."""

    server_key: str
    server_cert: str
    custom_ca: str = ""  # the authority that must have signed client certificates
    client_verify: bool = False  # whether clients must have a certificate

    @classmethod
    def from_file(cls, path: Path) -> Certificates:
        """Read TF Serving's `--ssl_config_file`."""
        config = read(path, SSLConfig(), "ssl_config_file")
        if not config.server_key or not config.server_cert:
            raise ValueError(
                f"ssl_config_file: expected server_key and server_cert. Received: {path} without one of them"
            )
        if config.client_verify and not config.custom_ca:
            raise ValueError(f"ssl_config_file: expected custom_ca with client_verify. Received: {path} without it")
        return cls(config.server_key, config.server_cert, config.custom_ca, config.client_verify)

    def context(self) -> ssl.SSLContext:
        """Return a TLS context for sockets of the standard library."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Readable only by its owner; the ssl module loads keys only from files.
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "cert.pem"), Path(folder, "key.pem")
            files[0].write_text(self.server_cert)
            files[1].write_text(self.server_key)
            try:
                context.load_cert_chain(*files)
            except ssl.SSLError as error:
                raise ValueError(
                    f"ssl_config_file: expected a key and its certificate. Received: {error.reason}"
                ) from error
        if self.custom_ca:
            context.load_verify_locations(cadata=self.custom_ca)
        if self.client_verify:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def grpc(self) -> grpc.ServerCredentials:
        """Return the credentials for a gRPC server."""
        pair = (self.server_key.encode(), self.server_cert.encode())
        return grpc.ssl_server_credentials([pair], self.custom_ca.encode() or None, self.client_verify)


class Token:
    """A bearer token that `Authorization` headers must contain; an empty token allows every request.

    >>> Token("secret").allows("Bearer secret"), Token("secret").allows(""), Token("").allows("")
    (True, False, True)
    """

    def __init__(self, token: str = ""):
        self._header = f"Bearer {token}".encode() if token else b""

    @classmethod
    def from_file(cls, path: Path) -> Token:
        """Read the token from a file; surrounding white space is removed."""
        try:
            token = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"bearer_token_file: expected a readable file with a token. Received: {path} ({error})"
            ) from error
        if not token or token.split() != [token]:
            raise ValueError(
                f"bearer_token_file: expected a token without spaces in {path}. Received: {len(token.split())} words"
            )
        return cls(token)

    @property
    def is_needed(self) -> bool:
        """Whether clients must send a token."""
        return bool(self._header)

    def allows(self, header: str) -> bool:
        """Return whether a header contains the token; takes the same time for every wrong header."""
        return not self._header or hmac.compare_digest(header.encode("utf-8", "replace"), self._header)
