"""The interface of a target inside a TensorFlow graph: training data, loss, decoding and output texts."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from seqattn_tf.core.columns import Column, DenseColumn, RaggedColumn
from seqattn_tf.core.registry import Registered, twin_of
from seqattn_tf.lite.targets.base import Target
from seqattn_tf.outputs.loss import MaskedCrossEntropy

Tensors = dict[str, tf.Tensor]


class GraphTarget(Registered, tf.Module):
    """The graph counterpart of a `Target`, which processes batches. It has the same `name_in_registry` as the target.

    Subclasses define `texts` and `tokens`, and `decode` if the outputs of a network suffice to find an answer.

    Args:
        target: The target to process.

    Attributes:
        padding: The value after the end of a correct answer.
        first: The smallest number in a correct answer.
    """

    registry: ClassVar[dict[str, type]] = {}
    padding: float = -1
    first = 0

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target

    # Training

    def column(self, values: Sequence[Any]) -> Column:
        """Return the column of the correct answers of many examples.

        Raises:
            ValueError: If the target cannot represent one of them.
        """
        [name] = self.target.names
        try:
            arrays = [self.target.arrays(value)[name] for value in values]
        except ValueError as error:
            raise ValueError(f"target: {error}") from None
        if not arrays or not arrays[0].ndim:
            return DenseColumn({name: np.array(arrays)})
        starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
        return RaggedColumn(name, np.concatenate(arrays), starts, padding=self.padding)

    def teacher_inputs(self, rows: Tensors) -> Tensors:
        """Return the inputs for teacher forcing, computed from the correct answers; none by default."""
        return {}

    def y_true(self, rows: Tensors) -> tf.Tensor:
        """Return the target tensor that the loss compares with a network's outputs."""
        [name] = self.target.names
        return rows[name]

    def loss(self, label_smoothing: float = 0.0) -> Callable[[tf.Tensor, Any], tf.Tensor]:
        """Return the loss function for training."""
        return MaskedCrossEntropy(label_smoothing, first=self.first, padding=int(self.padding))

    # Inference

    def decode(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """Return the answers in a network's outputs; `mask [batch, positions]` is that of the input."""
        raise NotImplementedError(
            f"{type(self.target).__name__}: answers are found by a search, so they cannot be decoded from the outputs"
        )

    def decode_structure(self, outputs: Tensors, answers: int = 1, look: str = "text") -> Tensors:
        """Return the answers found in the potentials of a whole structure.

        The LiteRT counterpart is `Target.decode_row`.

        Args:
            outputs: The outputs of the network, by name.
            answers: The number of best answers to find.
            look: The name of the input to whose positions the answers refer.
        """
        raise NotImplementedError(f"{type(self.target).__name__}: the target has no structure to decode")

    def potentials(self, outputs: Any) -> Tensors:
        """Return the tensors from which a host decodes, if the network ends in a structure."""
        return outputs

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the text of each answer: `[batch, answers]`."""
        raise NotImplementedError

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the tokens of the best answers, padded with empty strings: `[batch, tokens]`."""
        raise NotImplementedError

    def format(self, found: Tensors) -> Tensors:
        """Return `text`, `score`, `alternatives`, `alternative_scores` and `tokens` of the answers found."""
        scores = found["scores"]
        real = scores > -float("inf")
        texts = tf.where(real, self.texts(found), "")
        return {
            "text": texts[:, 0],
            "score": scores[:, 0],
            "alternatives": texts[:, 1:],
            "alternative_scores": scores[:, 1:],
            "tokens": tf.where(real[:, :1], self.tokens(found), ""),
        }


def graph_target(target: Target) -> GraphTarget:
    """Return the graph counterpart of a target.

    Raises:
        ValueError: If no `GraphTarget` has the name of the target's class or of one of its base classes.
    """
    return twin_of(target, GraphTarget)(target)
