"""Losses on attention: attend to every position, match given alignments, train hard attention from samples."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.masking import check_mask, zero_masked
from seqattn_tf.structured.base import floats


def doubly_stochastic(weights: tf.Tensor, mask: tf.Tensor | None = None, steps: tf.Tensor | None = None) -> tf.Tensor:
    """Return `sum_j (1 - sum_t alpha_tj)^2`, which is 0 if every position has total weight 1 (Xu et al., 2015).

    Args:
        weights: The attention weights `[batch, target, source]`.
        mask: The mask of the source positions, `[batch, source]`, True = keep.
        steps: The mask of the target steps, `[batch, target]`, True = keep.

    Returns `[batch]`.

    >>> doubly_stochastic(tf.constant([[[0.5, 0.5], [1.0, 0.0]]])).numpy().tolist()
    [0.5]
    """
    weights = floats(weights, "weights", 3)
    if steps is not None:
        weights = zero_masked(weights, check_mask(steps, weights))
    lacking = tf.square(1 - tf.reduce_sum(weights, axis=1))
    if mask is not None:
        lacking = tf.where(check_mask(mask), lacking, tf.zeros_like(lacking))
    return tf.reduce_sum(lacking, axis=1)


def alignment_loss(weights: tf.Tensor, given: tf.Tensor, steps: tf.Tensor | None = None) -> tf.Tensor:
    """Return `-sum_j a_tj log alpha_tj`, averaged over the steps with a given alignment `a`.

    Args:
        weights: The attention weights `alpha [batch, target, source]`.
        given: The given alignment `a [batch, target, source]`, at least 0. Each row is normalized to sum to one, so
            that a step with several true positions has the weight of one step. Rows of zeros are ignored.
        steps: The mask of the target steps, `[batch, target]`, True = keep.

    Returns `[batch]`, 0 where no alignment is given.

    >>> weights = tf.constant([[[0.5, 0.5], [0.1, 0.9]]])
    >>> given = tf.constant([[[1.0, 0.0], [0.0, 0.0]]])
    >>> round(float(tf.exp(-alignment_loss(weights, given)[0])), 3)
    0.5
    """
    weights = floats(weights, "weights", 3)
    given = tf.cast(given, weights.dtype)
    if steps is not None:
        steps = check_mask(steps, weights)
        weights, given = zero_masked(weights, steps), zero_masked(given, steps)
    links = tf.reduce_sum(given, axis=2, keepdims=True)
    shares = tf.math.divide_no_nan(given, links)
    surprise = -tf.math.log(tf.maximum(weights, 1e-7))  # finite where the weight is exactly 0
    known = tf.reduce_sum(tf.cast(links > 0, weights.dtype), axis=[1, 2])
    return tf.math.divide_no_nan(tf.reduce_sum(shares * surprise, axis=[1, 2]), known)


@keras.saving.register_keras_serializable("seqattn_tf")
class Reinforce(keras.layers.Layer):
    """The REINFORCE loss, which trains hard attention from samples (Xu et al., 2015; Williams, 1992).

        loss = -mean((reward - baseline) * log_prob + lambda * entropy)
        baseline <- d * baseline + (1 - d) * reward

    On average over samples, its gradient is the gradient of the expected reward plus the entropy term, which encourages
    exploration. The reward of a sample is the log-likelihood of the output given the sample. It is trained by its own
    loss and receives no gradient from this one.

    Args:
        decay: The decay `d` of the moving average.
        entropy: The weight `lambda` of the entropy.

    Call arguments:
        log_likelihood: The reward, `[batch]`.
        log_prob, entropy: The log-probability and the entropy of the samples, `[batch]`: the state of
            `HardAlignment(estimator="reinforce")`.

    >>> loss = Reinforce(entropy=0.0)
    >>> float(loss(tf.constant([-2.0]), tf.constant([-0.5]), tf.constant([0.7]), training=True))
    -1.0
    >>> round(float(loss.baseline), 3)
    -0.2
    """

    def __init__(self, decay: float = 0.9, entropy: float = 0.01, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)  # log-likelihoods of sequences are too large for half precision
        if not 0 <= decay < 1:
            raise ValueError(f"decay: expected a number in [0, 1). Received: {decay!r}")
        self.decay, self.entropy = decay, entropy

    def build(self, log_likelihood_shape: Any = None) -> None:
        self.baseline = self.add_weight(name="baseline", shape=(), initializer="zeros", trainable=False, autocast=False)
        self.built = True

    def call(
        self, log_likelihood: tf.Tensor, log_prob: tf.Tensor, entropy: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """Compute the loss: `[batch], [batch], [batch] -> []`.

        The baseline is that of the previous batches and is updated in training.
        """
        reward = tf.stop_gradient(floats(log_likelihood, "log_likelihood", 1))
        log_prob, entropy = floats(log_prob, "log_prob", 1), floats(entropy, "entropy", 1)
        baseline = tf.cast(self.baseline, reward.dtype)
        gain = (reward - baseline) * log_prob + self.entropy * entropy
        if training:
            moved = self.decay * baseline + (1 - self.decay) * tf.reduce_mean(reward)
            self.baseline.assign(tf.cast(moved, self.baseline.dtype))
        return -tf.reduce_mean(gain)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "decay": self.decay, "entropy": self.entropy}
