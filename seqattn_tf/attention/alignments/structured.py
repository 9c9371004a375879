"""The base class of alignments whose weights are marginals of a structure over the unmasked positions."""

import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class StructuredAlignment(Alignment):
    """An alignment by the marginals of a structured distribution. Subclasses define `marginals`."""

    meaning = "marginals"
    square = False  # whether queries and source are the same positions

    def marginals(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Compute the weights as `call` does, from inputs prepared by `padded`.

        The logits are in at least single precision, zero at masked positions, and have at least one position.
        """
        raise NotImplementedError

    def padded(self, logits: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Prepare logits and mask for `marginals`."""
        wide = tf.where(mask, bounded(floats(logits, "logits", 3)), 0)
        if not logits.shape[2]:  # 0 or unknown: adding a masked position changes nothing
            wide = tf.pad(wide, [[0, 0], [0, int(self.square)], [0, 1]])
            mask = tf.pad(mask, [[0, 0], [0, 0], [0, 1]])
        return wide, mask

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        queries, source = logits.shape[1:]
        weights = self.marginals(*self.padded(logits, mask))
        if not source:
            weights = weights[:, : tf.shape(logits)[1], :-1]
        weights.set_shape([None, queries, source])  # set statically, because LiteRT has no op for it
        return tf.cast(weights, logits.dtype), state
