"""A sequence of sequences: the sentences of a document, the turns of a dialog."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.core.masking import check_mask, mask_of
from seqattn_tf.core.scan import size_of
from seqattn_tf.recurrent.base import Returning, check_networks


class Hierarchy(NamedTuple):
    """All that a `HierarchicalEncoder` found."""

    outputs: tf.Tensor  # [batch, outer time, units]
    last: tf.Tensor  # [batch, units]
    states: list  # of the outer network, after its last step
    inner_outputs: tf.Tensor  # [batch, outer time, inner time, inner units]
    weights: Any  # [batch, outer time, inner time] of the pool; () without one


@keras.saving.register_keras_serializable("seqattn_tf")
class HierarchicalEncoder(Returning):
    """Read every inner sequence with one network, and the sequence of their summaries with another.

    An inner sequence with nothing to keep is a step of the outer sequence that is not kept.

    Args:
        inner: a network over every inner sequence (`Recurrent`, `Bidirectional`, `Stack`).
        outer: a network over the summaries. What the two would return by themselves does not matter.
        pool: a layer `pool(values, mask=mask) -> (summary, weights)` over the outputs of the inner network, as an
            attention that pools; without one, the summary is the inner network's (last layer's) final output.
        return_sequences: return the outer network's output at every step, not the last one alone.
        return_state: return the outer network's states after the last step too, one after the other.

    Call arguments:
        inputs: `[batch, outer time, inner time, features]`.
        mask: `[batch, outer time, inner time]`, True = keep.
        training: as of the networks.

    Returns the outer network's last output `[batch, units]`, the document's vector; with `return_sequences`, that at
    every step `[batch, outer time, units]`, and the mask of the steps goes on; with `return_state`, also its states.
    `encoder.read` gives all of it, the inner outputs and the weights of the pool too: a `Hierarchy`.

    >>> from seqattn_tf.recurrent import Bidirectional, Recurrent
    >>> encoder = HierarchicalEncoder(Bidirectional("gru", units=4), Recurrent("gru", units=5))
    >>> encoder(tf.ones([2, 3, 6, 7])).shape.as_list()
    [2, 5]
    >>> encoder.read(tf.ones([2, 3, 6, 7])).inner_outputs.shape.as_list()
    [2, 3, 6, 8]
    """

    parts = ("inner", "outer", "pool")

    def __init__(
        self,
        inner: Any,
        outer: Any,
        pool: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(return_sequences, return_state, **kwargs)
        [self.inner] = check_networks("inner", [inner])
        [self.outer] = check_networks("outer", [outer])
        self.pool = pool

    @property
    def output_size(self) -> int:
        """Of the outer network."""
        return self.outer.output_size

    @property
    def state_size(self) -> list[int]:
        """Of the outer network."""
        return self.outer.state_size

    def steps_kept(self, mask: Any) -> Any:
        """A step is kept if something in it is."""
        return keras.ops.any(mask, axis=-1)

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

    def read(self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False) -> Hierarchy:
        """All inner sequences at once, then the outer one; arguments as of `call`."""
        if inputs.shape.rank != 4:
            raise ValueError(
                f"inputs: expected [batch, outer time, inner time, features]. Received shape: {inputs.shape}"
            )
        if not self.built:
            self.build(inputs.shape)
        sizes = [size_of(inputs, axis) for axis in range(4)]
        batch, steps, time, _ = sizes
        mask, kept = mask_of(inputs, mask), None
        if mask is not None:
            mask = check_mask(mask, inputs)
            kept = tf.reduce_any(mask, axis=-1)
            mask = tf.reshape(mask, [batch * steps, time])
        flat = tf.reshape(inputs, [batch * steps, *sizes[2:]])
        inner = self.inner.read(flat, mask=mask, training=training)  # [batch * steps, time, units]
        summary, weights = self.inner.final_output(inner.states), ()
        if self.pool is not None:
            summary, weights = self.pool(inner.outputs, mask=mask)
            weights = tf.reshape(weights, [batch, steps, time])
        summaries = tf.reshape(summary, [batch, steps, summary.shape[-1]])
        outer = self.outer.read(summaries, mask=kept, training=training)
        words = tf.reshape(inner.outputs, [batch, steps, time, inner.outputs.shape[-1]])
        return Hierarchy(*outer, words, weights)

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False) -> Any:
        """Read, and return what was asked for."""
        return self.returned(*self.read(inputs, mask, training)[:3])
