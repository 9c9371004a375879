"""Structured attention over a chain: each position is selected or not, and neighbors influence each other."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.alignments.biased import BiasedAlignment
from seqattn_tf.attention.alignments.binary_chain import selected


@keras.saving.register_keras_serializable("seqattn_tf")
class CRFAlignment(BiasedAlignment):
    """A conditional random field alignment: `alpha_j = p(z_j = 1)` (Kim et al., 2017).

        p(z) ~ exp(sum_j (e_j + b) z_j + sum_j T[z_j, z_{j+1}])        z_j = 1 where position j is selected

    The chain consists of the unmasked positions; positions on either side of a masked gap are neighbors. The four
    entries of `T` are trainable and start at 0, where the alignment equals the sigmoid alignment.

    Args:
        bias: The initial value of the trainable `b`, best near minus the logarithm of the length.

    >>> weights, _ = CRFAlignment(bias=0.0)(tf.zeros([1, 1, 2]), tf.constant([[[True, True]]]))
    >>> weights.numpy().tolist()
    [[[0.5, 0.5]]]
    """

    name_in_registry = "crf"
    meaning = "marginals"

    def build(self, logits_shape: Any = None) -> None:
        """Create `T` and `b`."""
        super().build(logits_shape)
        self.pairwise = self.add_weight(name="pairwise", shape=(2, 2), initializer="zeros", autocast=False)

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        scores = self.shifted(logits, mask)
        weights = selected(scores, tf.cast(self.pairwise, scores.dtype), mask)
        return tf.cast(weights, logits.dtype), state
