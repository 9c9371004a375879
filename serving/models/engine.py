"""What runs a version of a model. A session does for a SavedModel; LiteRT does for a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2

from seqattn_tf.serving.errors import ServingError

Arrays = Mapping[str, np.ndarray]  # by the names that a signature gives; strings are object arrays of bytes


class Engine(Protocol):
    """A loaded model. Safe in threads; it lives as long as somebody holds it."""

    @property
    def signature_defs(self) -> Mapping[str, meta_graph_pb2.SignatureDef]:
        """By name, what it takes and gives."""

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        """The named outputs of a signature, for an array for each of its inputs.

        Args:
            signature_name: a name of `signature_defs`.
            inputs: one of each name; the engine looks at their dtypes and shapes.
            outputs: names of outputs of the signature, none twice.
            timeout: seconds after which the answer is of no use; None for any time.

        Raises:
            ServingError: DEADLINE_EXCEEDED, or what the engine says.
        """


def late() -> ServingError:
    """The end of a run that took too long, in TensorFlow's words."""
    return ServingError("DEADLINE_EXCEEDED", "Timed out waiting for notification")
