"""Labels, in the graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.explain import draw_alignment
from seqattn_tf.lite.targets.label import Label
from seqattn_tf.outputs.base import GraphTarget, Tensors


class GraphLabel(GraphTarget):
    """The twin of `Label`."""

    name_in_registry = "label"

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

    def draw_progress(self, tokens: Sequence[str], outputs: np.ndarray, title: str) -> Any:
        """The probability of each label after each token, from a network's outputs `[tokens, labels]`."""
        shares = np.exp(outputs - outputs.max(axis=1, keepdims=True, initial=-np.inf))
        return draw_alignment((shares / shares.sum(axis=1, keepdims=True)).T, tokens, self.target.labels, title=title)
