"""The contract of a target inside a TensorFlow graph: what is learned from, what is found, what is said."""

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
    """What a `Target` does, to batches in a graph; it has the `name_in_registry` of the target.

    A subclass gives `texts` and `tokens`, and `decide` where a network's outputs are enough to find an answer.

    Args:
        target: the twin.

    Attributes:
        padding: what stands after the last number of a right answer.
        first: the least number of a right answer.
    """

    registry: ClassVar[dict[str, type]] = {}
    padding: float = -1
    first = 0

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target

    # Learning

    def column(self, values: Sequence[Any]) -> Column:
        """The right answers of many examples.

        Raises:
            ValueError: one of them cannot be said.
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

    def teach(self, rows: Tensors) -> Tensors:
        """What a network is shown of the right answers while it learns; nothing, where it answers at once."""
        return {}

    def right(self, rows: Tensors) -> tf.Tensor:
        """What the loss compares a network's outputs with."""
        [name] = self.target.names
        return rows[name]

    def loss(self, label_smoothing: float = 0.0) -> Callable[[tf.Tensor, Any], tf.Tensor]:
        """What training minimises."""
        return MaskedCrossEntropy(label_smoothing, first=self.first, padding=int(self.padding))

    # Answering

    def decide(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """What is found in a network's outputs; `mask [batch, places]` says which places are read."""
        raise NotImplementedError(f"{type(self.target).__name__}: found by a search, not in outputs alone")

    def decide_structure(self, outputs: Tensors, answers: int = 1, look: str = "text") -> Tensors:
        """What is found in the potentials of a whole structure; its twin is `Target.decide_row`.

        Args:
            outputs: what the network gives, by name.
            answers: how many of the best to find.
            look: the name of the input whose places are decided about.
        """
        raise NotImplementedError(f"{type(self.target).__name__}: has no structure")

    def potentials(self, outputs: Any) -> Tensors:
        """What a host decides from, where structure ends a network."""
        return outputs

    def texts(self, found: Tensors) -> tf.Tensor:
        """The text of each answer: `[batch, answers]`."""
        raise NotImplementedError

    def tokens(self, found: Tensors) -> tf.Tensor:
        """The tokens of the best answers: `[batch, tokens]`, empty strings after the last."""
        raise NotImplementedError

    def say(self, found: Tensors) -> Tensors:
        """`text`, `score`, `alternatives`, `alternative_scores` and `tokens` of what was found."""
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
    """Return the twin of a target.

    Raises:
        ValueError: there is no `GraphTarget` with the name of the target's class, or of one that it derives from.
    """
    return twin_of(target, GraphTarget)(target)
