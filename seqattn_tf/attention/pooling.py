"""Pooling of a sequence into one vector without a query: by attention or by averaging."""

from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Alignment
from seqattn_tf.core.layer import Composed, Masked
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import masked_mean, masked_values
from seqattn_tf.core.registry import check_count

_POOLS = ("last", "average", "attention")


@keras.saving.register_keras_serializable("seqattn_tf")
class AttentionPooling(Composed):
    """Attention pooling of a sequence into one vector, as in hierarchical attention networks (Yang et al., 2016).

        u_j = tanh(W h_j + b)        alpha = align(u_j . w)        c = sum_j alpha_j h_j

    Args:
        units: The width of the hidden layer `u`.
        align: An `Alignment` or its name.

    Call arguments:
        values: The sequence `[batch, source, units]`.
        mask: The mask of the values, `[batch, source]`, True = keep. A fully masked row gives zeros.

    Returns `(context [batch, units], weights [batch, source])`.

    >>> context, weights = AttentionPooling(8)(tf.ones([2, 5, 4]))
    >>> context.shape.as_list(), weights.shape.as_list()
    ([2, 4], [2, 5])
    """

    parts = ("align",)

    def __init__(self, units: int, align: str | Alignment = "softmax", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = check_count("units", units)
        self.align = Alignment.get(align, dtype=self.dtype_policy)

    def build(self, values_shape: Any) -> None:
        if not self.align.built:
            self.align.build()
        self.kernel = self.add_weight(name="kernel", shape=(values_shape[-1], self.units))
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(self.units, 1))
        self.built = True

    def call(
        self, values: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Pool the values: `[batch, source, units] -> ([batch, units], [batch, source])`."""
        if values.shape.rank != 3:
            raise ValueError(f"values: expected [batch, source, units]. Received shape: {values.shape}")
        values, mask = masked_values(values, mask)
        hidden = tf.tanh(linear(values, self.kernel, self.bias))
        logits = tf.linalg.matrix_transpose(linear(hidden, self.scale))  # [batch, 1, source]
        state = self.align.initial_state(mask, values.dtype)
        weights, _ = self.align.call(logits, mask[:, None], state, training)
        return tf.squeeze(tf.matmul(weights, values), 1), tf.squeeze(weights, 1)

    def compute_output_shape(self, values_shape: Any) -> tuple[tuple, tuple]:
        batch, source, units = values_shape
        return (batch, units), (batch, source)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("seqattn_tf")
class AveragePooling(Masked):
    """The mean of a sequence over its unmasked positions.

    The call arguments and the results are those of `AttentionPooling`.

    >>> context, weights = AveragePooling()(tf.ones([2, 5, 4]), mask=tf.constant([[True] * 5, [True] * 4 + [False]]))
    >>> weights[1].numpy().tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0]
    """

    def call(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Pool the values: `[batch, source, units] -> ([batch, units], [batch, source])`."""
        values, mask = masked_values(values, mask)
        kept = tf.cast(mask, values.dtype)
        weights = tf.math.divide_no_nan(kept, tf.reduce_sum(kept, axis=1, keepdims=True))
        return masked_mean(values, mask), weights

    def compute_output_shape(self, values_shape: Any) -> tuple[tuple, tuple]:
        batch, source, units = values_shape
        return (batch, units), (batch, source)


def pooling(pool: str, units: int, **alike: Any) -> AttentionPooling | AveragePooling | None:
    """Return the pooling layer of that name, or None for `"last"`, the final state of the encoder network."""
    if pool not in _POOLS:
        raise ValueError(f"pool: expected one of {_POOLS}. Received: {pool!r}")
    if pool == "attention":
        return AttentionPooling(units, **alike)
    return AveragePooling(**alike) if pool == "average" else None
