"""Labels, in the graph."""

import tensorflow as tf

from seqattn_tf.targets.graph.base import GraphTarget, Tensors
from seqattn_tf.targets.label import Label


class GraphLabel(GraphTarget):
    """The twin of `Label`."""

    target: Label

    def decide(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """All labels by their probability, from logits `[batch, labels]`."""
        scores, order = tf.math.top_k(tf.nn.log_softmax(outputs), len(self.target.labels))
        return {"labels": order, "scores": scores}

    def texts(self, found: Tensors) -> tf.Tensor:
        """The labels."""
        return tf.gather(tf.constant(self.target.labels), found["labels"])

    def tokens(self, found: Tensors) -> tf.Tensor:
        """The best label."""
        return self.texts(found)[:, :1]
