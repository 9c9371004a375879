"""The connection to a Ray cluster."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield the package `ray`, connected to a cluster; an existing connection is used and remains.

    Raises:
        ValueError: If Ray is not installed, or if there is no such cluster.
    """
    ray = _import_ray()
    joined = ray.is_initialized()
    if not joined:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"address: expected the address of a Ray cluster. Received: {address!r}, {error}"
            ) from None
    try:
        yield ray
    finally:
        if not joined:
            ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ValueError(
            "scheduler: expected the package ray. Received: it is not installed; run pip install 'seqattn-tf[ray]'"
        ) from None
    return ray
