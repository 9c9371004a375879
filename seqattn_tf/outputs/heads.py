"""The graph counterpart of heads."""

import tensorflow as tf

from seqattn_tf.lite.targets.heads import NONE
from seqattn_tf.outputs.base import GraphTarget, Tensors
from seqattn_tf.outputs.tags import joined, with_gaps


class GraphHeads(GraphTarget):
    """The graph counterpart of `Heads`."""

    name_in_registry = "heads"

    padding = NONE

    def decode(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """Return the most probable head of each word independently, from logits `[batch, words, root and words]`."""
        kept = tf.ones(tf.shape(outputs)[:2], tf.bool) if mask is None else mask
        open_to = tf.pad(kept, [[0, 0], [1, 0]], constant_values=True)[:, None]  # the root and unmasked words
        scores = tf.nn.log_softmax(tf.where(open_to, outputs, outputs.dtype.min))
        total = tf.reduce_sum(tf.where(kept, tf.reduce_max(scores, axis=-1), 0.0), axis=1, keepdims=True)
        return {
            "heads": tf.where(kept, tf.argmax(scores, axis=-1, output_type=tf.int32), NONE)[:, None],
            "scores": tf.where(tf.reduce_any(kept, axis=1, keepdims=True), total, -float("inf")),
        }

    def _names(self, found: Tensors) -> tf.Tensor:
        return with_gaps(tf.where(found["heads"] == NONE, "", tf.strings.as_string(found["heads"])))

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the heads, separated by spaces."""
        return joined(self._names(found))

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the heads of the best answers."""
        return self._names(found)[:, 0]
