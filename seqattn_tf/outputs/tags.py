"""The graph counterpart of tags."""

import tensorflow as tf

from seqattn_tf.lite.targets.tags import GAP, Tags
from seqattn_tf.outputs.base import GraphTarget, Tensors


class GraphTags(GraphTarget):
    """The graph counterpart of `Tags`."""

    name_in_registry = "tags"

    target: Tags

    padding = 0
    first = 1

    def decode(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """Return the most probable tag of each position independently, from logits `[batch, positions, tags]`."""
        found = tf.argmax(outputs, axis=-1, output_type=tf.int32)
        gained = tf.reduce_max(tf.nn.log_softmax(outputs), axis=-1)
        kept = tf.ones_like(found, tf.bool) if mask is None else mask
        scores = tf.reduce_sum(tf.where(kept, gained, 0.0), axis=1, keepdims=True)
        return {
            "tags": tf.where(kept, found + self.first, self.padding)[:, None],
            "scores": tf.where(tf.reduce_any(kept, axis=1, keepdims=True), scores, -float("inf")),
        }

    def _names(self, found: Tensors) -> tf.Tensor:
        return with_gaps(tf.gather(tf.constant(["", *self.target.tags]), found["tags"]))  # [batch, answers, positions]

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the tags, separated by spaces."""
        return joined(self._names(found))

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the tags of the best answers."""
        return self._names(found)[:, 0]


def with_gaps(names: tf.Tensor) -> tf.Tensor:
    """Replace empty names in `[..., positions]` that precede a non-empty one by the gap symbol."""
    there = tf.cast(names != "", tf.int32)
    return tf.where((there == 0) & (tf.cumsum(there, axis=-1, reverse=True) > 0), GAP, names)


def joined(names: tf.Tensor) -> tf.Tensor:
    """Join names `[..., positions]` with spaces, without trailing empty ones: `[...]`."""
    return tf.strings.strip(tf.strings.reduce_join(names, axis=-1, separator=" "))
