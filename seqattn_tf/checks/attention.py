"""Checks of scores and alignments inside an `Attention` layer."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.attention import Alignment, Attention, Score
from seqattn_tf.checks.base import expect, expect_close
from seqattn_tf.checks.sequence import BATCH, MASK, TIME, WIDTH, LayerChecks, normal, pairs

SHARES = ("distribution", "sample")  # meanings whose weights sum to at most 1


class AttentionChecks(LayerChecks):
    """Checks of a part of an attention layer. Subclasses define `attention`."""

    masked = 1
    square = False  # whether queries and values are the same positions

    def attention(self, dtype: str) -> Attention:
        """Return an attention layer with the part inside."""
        raise NotImplementedError

    def layer(self, dtype: str) -> Any:
        """Return a built attention layer with the part inside."""
        attention = self.attention(dtype)
        attention.build((None, None, WIDTH), (None, None, WIDTH))
        return attention

    def arrays(self) -> list[np.ndarray]:
        """Return queries and values."""
        return [normal(BATCH, TIME, WIDTH), normal(BATCH, TIME, WIDTH, seed=1)]

    def call(self, layer: Any, arrays: Sequence[tf.Tensor], mask: tf.Tensor) -> list[tf.Tensor]:
        """Return weights and contexts."""
        context, weights = layer(arrays[0], arrays[1], mask=mask)
        return [weights, context]

    def alone(self, arrays: Sequence[np.ndarray], row: int, length: int) -> list[np.ndarray]:
        """Truncate the values, and the queries if they are the same positions."""
        query, values = arrays
        queries = length if self.square else TIME
        return [query[row : row + 1, :queries], values[row : row + 1, :length]]

    def shortened(self, length: int) -> list[np.ndarray]:
        """Truncate the values, and the queries if they are the same positions."""
        query, values = self.arrays()
        return [query[:, :length] if self.square else query, values[:, :length]]

    def without_padding(self, outputs: Sequence[tf.Tensor], row: int, length: int) -> list[tf.Tensor]:
        """Truncate the weights, and the queries if they are the same positions."""
        weights, context = outputs
        queries = length if self.square else TIME
        return [weights[row : row + 1, :queries, :length], context[row : row + 1, :queries]]

    def names_of(self, outputs: Sequence[tf.Tensor]) -> list[str]:
        return ["weights", "context"]

    def model(self) -> tuple[keras.Model, list[np.ndarray]]:
        """Return a model of attention between two inputs with a readout."""
        query, values = keras.Input((TIME, WIDTH)), keras.Input((TIME, WIDTH))
        context, _ = self.attention("float32")(query, values)
        return keras.Model([query, values], keras.layers.Dense(1)(context)), [
            array.astype("float32") for array in self.arrays()
        ]

    def check_query_by_query(self) -> None:
        """Check that `attend`, called for one query at a time, returns the same as the layer for all queries."""
        layer, (query, values) = self.made(), self.constants(dirty=True)
        weights, contexts = self.call(layer, [query, values], tf.constant(MASK))
        memory = layer.prepare(values, tf.constant(MASK))
        state = layer.initial_state(memory)
        for number in range(TIME):
            context, weight, state = layer.attend(query[:, number], memory, state)
            expect_close(weight, weights[:, number], 1e-10, f"weights of query {number} in a separate step")
            expect_close(context, contexts[:, number], 1e-10, f"context of query {number} in a separate step")


class ScoreChecks(AttentionChecks):
    """Checks of a score.

    Args:
        part: A score. It is not modified.
    """

    family = Score

    def attention(self, dtype: str) -> Attention:
        """Return attention with the score and a softmax."""
        return Attention(self.clone(self.part, {"dtype": dtype}), "softmax", dtype=dtype)

    def system(self) -> Any:
        """Return an encoder-decoder that uses the score with its default arguments."""
        return pairs(score=self.part.name_in_registry)


class AlignmentChecks(AttentionChecks):
    """Checks of an alignment.

    Args:
        part: An alignment. It is not modified.
    """

    family = Alignment

    def __init__(self, part: Alignment) -> None:
        super().__init__(part)
        self.square = getattr(part, "square", False)

    def names(self) -> list[str]:
        """Return the names of the checks; self-attention has none that need separate queries."""
        return [name for name in super().names() if not (self.square and name in ("query_by_query", "exports"))]

    def attention(self, dtype: str) -> Attention:
        """Return attention with dot products and the alignment."""
        return Attention("dot", self.clone(self.part, {"dtype": dtype}), dtype=dtype)

    def system(self) -> Any:
        """Return an encoder-decoder that uses the alignment with its default arguments."""
        return pairs(align=self.part.name_in_registry)

    def check_weights(self) -> None:
        """Check that weights are between 0 and 1, 0 where masked, and consistent with `meaning`."""
        weights = self.call(self.made(), self.constants(dirty=True), tf.constant(MASK))[0].numpy()
        expect(
            (weights >= 0).all() and (weights <= 1 + 1e-12).all(),
            "weights: expected values from 0 to 1. Received: values outside this range",
        )
        hidden = np.broadcast_to(~MASK[:, None], weights.shape)
        expect((weights[hidden] == 0).all(), "weights at masked positions: expected zeros. Received: nonzero values")
        meaning = getattr(self.part, "meaning", None)
        known = (*SHARES, "independent", "marginals")
        expect(meaning in known, f"meaning: expected one of {known}. Received: {meaning!r}")
        if meaning in SHARES:
            most = weights.sum(axis=2).max()
            expect(most <= 1 + 1e-12, f"weights of a {meaning}: expected a sum of at most 1. Received: {most:.6g}")

    def check_large_scores(self) -> None:
        """Check that scores of +-1e4 in single precision give finite weights and gradients."""
        layer = self.made("float32")
        query, values = self.constants("float32")
        values = values + 1e4 * tf.sign(tf.constant(normal(BATCH, TIME, WIDTH, seed=2), tf.float32))
        with tf.GradientTape() as tape:
            tape.watch(values)
            weights = self.call(layer, [query, values], tf.constant(MASK))[0]
            value = tf.reduce_sum(weights**2)
        finite = np.isfinite(weights).all() and np.isfinite(tape.gradient(value, values)).all()
        expect(finite, "weights and gradients of scores of 1e4: expected finite numbers. Received: NaN or infinity")
