"""The graph counterpart of chain tags."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from seqattn_tf.core.masking import length_mask
from seqattn_tf.core.replicas import mean_of_all
from seqattn_tf.lite.answer import ATTENTION
from seqattn_tf.lite.targets.chain_tags import ChainTags
from seqattn_tf.outputs.base import Tensors
from seqattn_tf.outputs.tags import GraphTags
from seqattn_tf.structured import LinearChain


class GraphChainTags(GraphTags):
    """The graph counterpart of `ChainTags`, for network outputs `unary`, `pairwise` and `lengths` of a batch."""

    name_in_registry = "chain_tags"

    target: ChainTags

    def loss(self, label_smoothing: float = 0.0) -> Callable[[tf.Tensor, Any], tf.Tensor]:
        """Return a function that computes the negative log-likelihood of the correct tags per position."""
        if label_smoothing:
            raise ValueError(f"label_smoothing: expected 0 for tags of a chain. Received: {label_smoothing}")
        return _chain_loss

    def decode_structure(self, outputs: Tensors, answers: int = 1, look: str = "text") -> Tensors:
        """Return the best sequences with their log-probabilities, and the marginals of every tag at every position."""
        time = tf.shape(outputs["unary"])[1]
        chain = LinearChain(
            tf.pad(outputs["unary"], [[0, 0], [0, tf.cast(time == 0, tf.int32)], [0, 0]]),  # at least one position
            outputs["pairwise"],
            outputs["lengths"],
        )
        if answers == 1:
            tags = chain.argmax[:, None]
            scores = chain.score(tags[:, 0])[:, None]
        else:
            tags, scores = chain.top_k(answers)
        log_partition, marginals = chain.posterior()
        there = length_mask(chain.lengths, tf.shape(tags)[2])[:, None]
        possible = ((chain.lengths > 0) & (log_partition > -float("inf")))[:, None]
        scores = tf.where(possible & (scores > -float("inf")), scores - log_partition[:, None], -float("inf"))
        return {
            "tags": tf.where(there, tags + self.first, self.padding)[:, :, :time],
            "scores": scores,
            look + ATTENTION: tf.linalg.matrix_transpose(marginals)[:, :, :time],
        }


def _chain_loss(right: tf.Tensor, outputs: Tensors) -> tf.Tensor:
    """Return `-log p(tags)` of all rows divided by their number of positions; `right` counts tags from 1."""
    chain = LinearChain(outputs["unary"], outputs["pairwise"], outputs["lengths"])
    total = tf.reduce_sum(chain.log_prob(tf.maximum(tf.cast(right, tf.int32) - 1, 0)))
    return mean_of_all(-total, tf.reduce_sum(outputs["lengths"]))
