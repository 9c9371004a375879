"""Structured attention over a chain: places are selected or not, and neighbours know of each other."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment
from seqattn_tf.attention.alignments.binary_chain import selected


@keras.saving.register_keras_serializable("seqattn_tf")
class CRFAlignment(BiasedAlignment):
    """`alpha_j = p(z_j = 1)` under a conditional random field (Kim et al., 2017).

        p(z) ~ exp(sum_j (e_j + b) z_j + sum_j T[z_j, z_{j+1}])        z_j = 1 where place j is selected

    over the kept places, neighbours over any gap. The four numbers `T` are learned; they start at 0, where this is
    the sigmoid alignment.

    Args:
        bias: the first value of the learned `b`, near minus the logarithm of the length.

    >>> weights, _ = CRFAlignment(bias=0.0)(tf.zeros([1, 1, 2]), tf.constant([[[True, True]]]))
    >>> weights.numpy().tolist()
    [[[0.5, 0.5]]]
    """

    name_in_registry = "crf"
    meaning = "marginals"

    def build(self, logits_shape: Any = None) -> None:
        """Create `T` beside `b`."""
        super().build(logits_shape)
        self.pairwise = self.add_weight(name="pairwise", shape=(2, 2), initializer="zeros", autocast=False)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
        scores = self.shifted(logits, mask)
        weights = selected(scores, tf.cast(self.pairwise, scores.dtype), mask)
        return tf.cast(weights, logits.dtype), state
