"""The interface of engines, which run a version of a model: a session for a SavedModel, or LiteRT for its own files."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from seqattn_tf.serving.errors import ServingError, deadline_exceeded
from seqattn_tf.serving.protos import SignatureDef

Member = TypeVar("Member")
Arrays = Mapping[str, np.ndarray]  # by the names in a signature; strings are object arrays of bytes


class Engine(Protocol):
    """A loaded model. Thread-safe; it is unloaded when the last reference to it is gone."""

    @property
    def name(self) -> str:
        """The name of the engine in metadata and statuses; empty for TensorFlow, whose replies are TF Serving's."""

    @property
    def signature_defs(self) -> Mapping[str, SignatureDef]:
        """The signatures by name, with their inputs and outputs."""

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        """Run a signature and return the named outputs.

        Args:
            signature_name: A name in `signature_defs`.
            inputs: One array for each input; the engine checks their dtypes and shapes.
            outputs: Distinct names of outputs of the signature.
            timeout: The time limit in seconds; None for no limit.

        Raises:
            ServingError: DEADLINE_EXCEEDED, or an error of the engine.
        """

    def quick_run(self, signature_name: str, inputs: Arrays) -> Callable[[], dict[str, np.ndarray]] | None:
        """Return a function that computes all outputs in the calling thread in less than a millisecond, or None.

        Args:
            signature_name: A name in `signature_defs`.
            inputs: One array for each input.
        """


class Pool(Generic[Member]):
    """Copies of something that serves one request at a time. All but the first are made on demand.

    Args:
        first: The first copy.
        make: A function that makes another one.
        size: The maximum number of copies.
    """

    def __init__(self, first: Member, make: Callable[[], Member], size: int) -> None:
        self._make = make
        self._free: queue.LifoQueue[Member | None] = queue.LifoQueue()
        for member in [None] * (size - 1) + [first]:
            self._free.put(member)

    @contextlib.contextmanager
    def lend(self, timeout: float | None) -> Iterator[Member]:
        """Lend a copy for the time of a `with` block.

        Raises:
            ServingError: DEADLINE_EXCEEDED if none becomes free in time.
        """
        try:
            member = self._free.get(timeout=None if timeout is None else max(timeout, 0))
        except queue.Empty:
            raise deadline_exceeded() from None
        try:
            member = self._make() if member is None else member
            yield member
        finally:
            self._free.put(member)


def out_of_memory() -> ServingError:
    """Return the error for a request that LiteRT has no memory for."""
    return ServingError("RESOURCE_EXHAUSTED", "expected a request that fits into memory. Received: a larger one")
