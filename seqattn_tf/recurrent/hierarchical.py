"""A sequence of sequences: the sentences of a document, the turns of a dialog."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.layer import Composed
from seqattn_tf.masking import checked_mask
from seqattn_tf.recurrent.stack import final_output
from seqattn_tf.scan import size_of


class Hierarchy(NamedTuple):
    """What a `HierarchicalEncoder` returns."""

    outputs: tf.Tensor  # [batch, outer time, units]
    inner_outputs: tf.Tensor  # [batch, outer time, inner time, inner units]
    states: Any  # of the outer network, after its last step
    weights: Any  # [batch, outer time, inner time] of the pool; () without one


@keras.saving.register_keras_serializable("seqattn_tf")
class HierarchicalEncoder(Composed):
    """Read every inner sequence with one network, and the sequence of their summaries with another.

    An inner sequence with nothing to keep is a step of the outer sequence that is not kept.

    Args:
        inner: a network over every inner sequence (`Recurrent`, `Bidirectional`, `Stack`).
        outer: a network over the summaries.
        pool: a layer `pool(values, mask=mask) -> (summary, weights)` over the outputs of the inner network, as an
            attention that pools; without one, the summary is the inner network's (last layer's) final first state.

    Call arguments:
        inputs: `[batch, outer time, inner time, features]`.
        mask: `[batch, outer time, inner time]`, True = keep.
        training: as of the networks.

    Returns a `Hierarchy`.

    >>> from seqattn_tf.recurrent import Bidirectional, Recurrent
    >>> encoder = HierarchicalEncoder(Bidirectional("gru", units=4), Recurrent("gru", units=5))
    >>> found = encoder(tf.ones([2, 3, 6, 7]))
    >>> found.outputs.shape.as_list(), found.inner_outputs.shape.as_list()
    ([2, 3, 5], [2, 3, 6, 8])
    """

    parts = ("inner", "outer", "pool")

    def __init__(self, inner: Any, outer: Any, pool: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        for name, network in (("inner", inner), ("outer", outer)):
            if not hasattr(network, "output_size"):
                raise ValueError(f"{name}: expected a recurrent network. Received: {network!r}")
        self.inner = inner
        self.outer = outer
        self.pool = pool

    def build(self, inputs_shape: Any) -> None:
        """Build both networks, and the pool between them."""
        batch, steps, time, features = inputs_shape
        if not self.inner.built:
            self.inner.build((None, time, features))
        width = self.inner.output_size
        if self.pool is not None:  # a call with shapes alone builds it, and tells how wide its summaries are
            values = keras.KerasTensor((None, time, width), dtype=self.compute_dtype)
            width = self.pool(values, mask=keras.KerasTensor((None, time), dtype="bool"))[0].shape[-1]
        if not self.outer.built:
            self.outer.build((batch, steps, width))
        self.built = True

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False) -> Hierarchy:
        """All inner sequences at once, then the outer one."""
        if inputs.shape.rank != 4:
            raise ValueError(
                f"inputs: expected [batch, outer time, inner time, features]. Received shape: {inputs.shape}"
            )
        sizes = [size_of(inputs, axis) for axis in range(4)]
        batch, steps, time, _ = sizes
        kept = None
        if mask is not None:
            mask = checked_mask(mask, inputs)
            kept = tf.reduce_any(mask, axis=-1)
            mask = tf.reshape(mask, [batch * steps, time])
        flat = tf.reshape(inputs, [batch * steps, *sizes[2:]])
        inner, states = self.inner(flat, mask=mask, training=training)  # [batch * steps, time, units]
        summary, weights = final_output(states), ()
        if self.pool is not None:
            summary, weights = self.pool(inner, mask=mask)
            weights = tf.reshape(weights, [batch, steps, time])
        summaries = tf.reshape(summary, [batch, steps, summary.shape[-1]])
        outputs, states = self.outer(summaries, mask=kept, training=training)
        return Hierarchy(outputs, tf.reshape(inner, [batch, steps, time, inner.shape[-1]]), states, weights)
