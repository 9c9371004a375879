"""What alignments share whose weights are marginals of a structure over the kept places."""

import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.masking import bounded
from seqattn_tf.structured.base import floats


class StructuredAlignment(Alignment):
    """A subclass gives `marginals`."""

    meaning = "marginals"
    square = False  # whether queries and source are the same places

    def marginals(self, logits: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """As `call`, in single precision at least, with one place at least, and zeros where nothing is kept."""
        raise NotImplementedError

    def padded(self, logits: tf.Tensor, mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Logits and mask as `marginals` takes them."""
        wide = tf.where(mask, bounded(floats(logits, "logits", 3)), 0)
        if not logits.shape[2]:  # 0, or it may turn out to be: a place that is not kept changes nothing
            wide = tf.pad(wide, [[0, 0], [0, int(self.square)], [0, 1]])
            mask = tf.pad(mask, [[0, 0], [0, 0], [0, 1]])
        return wide, mask

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
        queries, source = logits.shape[1:]
        weights = self.marginals(*self.padded(logits, mask))
        if not source:
            weights = weights[:, : tf.shape(logits)[1], :-1]
        weights.set_shape([None, queries, source])  # no op: the edge has none for it
        return tf.cast(weights, logits.dtype), state
