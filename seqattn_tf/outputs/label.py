"""The graph counterpart of labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.explain import draw_alignment
from seqattn_tf.lite.targets.label import Label
from seqattn_tf.outputs.base import GraphTarget, Tensors


class GraphLabel(GraphTarget):
    """The graph counterpart of `Label`."""

    name_in_registry = "label"

    target: Label

    def decode(self, outputs: tf.Tensor, mask: tf.Tensor | None = None) -> Tensors:
        """Return all labels ordered by probability, from logits `[batch, labels]`."""
        scores, order = tf.math.top_k(tf.nn.log_softmax(outputs), len(self.target.labels))
        return {"labels": order, "scores": scores}

    def texts(self, found: Tensors) -> tf.Tensor:
        """Return the labels."""
        return tf.gather(tf.constant(self.target.labels), found["labels"])

    def tokens(self, found: Tensors) -> tf.Tensor:
        """Return the best label."""
        return self.texts(found)[:, :1]

    def draw_progress(self, tokens: Sequence[str], outputs: np.ndarray, title: str) -> Any:
        """Plot the probability of each label after each token, given a network's outputs `[tokens, labels]`."""
        shares = np.exp(outputs - outputs.max(axis=1, keepdims=True, initial=-np.inf))
        return draw_alignment((shares / shares.sum(axis=1, keepdims=True)).T, tokens, self.target.labels, title=title)
