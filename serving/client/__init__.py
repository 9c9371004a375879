"""Clients for this server and for TF Serving, with one small interface over REST or gRPC.

>>> client = connect("http://127.0.0.1:8501", timeout=5.0)  # doctest: +SKIP
>>> client.answer("pronounce", ["hello"])[0].text  # doctest: +SKIP

`RestClient` needs no other package than NumPy; `GrpcClient` needs gRPC, which is imported on first use.
"""

from __future__ import annotations

from typing import Any

from seqattn_tf.serving.client.base import Client, ClientOptions
from seqattn_tf.serving.client.rest import RestClient

__all__ = ["Client", "ClientOptions", "GrpcClient", "RestClient", "connect"]


def connect(url: str, **options: Any) -> Client:
    """Return a client for a URL: `http://` or `https://` for REST, `grpc://` or `grpcs://` for gRPC, with `host:port`.

    Args:
        url: The URL of the server.
        **options: `timeout`, `retries`, `token`, `ca_file`; see `base.ClientOptions`.
    """
    scheme, _, address = url.partition("://")
    if scheme in ("http", "https") and address:
        return RestClient(url, **options)
    if scheme in ("grpc", "grpcs") and address:
        from seqattn_tf.serving.client.grpc import GrpcClient

        return GrpcClient(address, tls=scheme == "grpcs", **options)
    raise ValueError(f"url: expected http(s)://host:port or grpc(s)://host:port. Received: {url!r}")


def __getattr__(name: str) -> Any:
    """Import `GrpcClient` on first use, because its module needs gRPC."""
    if name == "GrpcClient":
        from seqattn_tf.serving.client.grpc import GrpcClient

        return GrpcClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
