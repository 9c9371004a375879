"""Sequences of sequences, such as the sentences of a document or the turns of a dialog."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.core.masking import check_mask, mask_of
from seqattn_tf.core.scan import size_of
from seqattn_tf.recurrent.base import Returning, check_networks


class Hierarchy(NamedTuple):
    """Everything that a `HierarchicalEncoder` computes."""

    outputs: tf.Tensor  # [batch, outer time, units]
    last: tf.Tensor  # [batch, units]
    states: list  # of the outer network after its last step
    inner_outputs: tf.Tensor  # [batch, outer time, inner time, inner units]
    weights: Any  # [batch, outer time, inner time], from the pool; () without one


@keras.saving.register_keras_serializable("seqattn_tf")
class HierarchicalEncoder(Returning):
    """A hierarchical encoder: one network reads every inner sequence, another reads the sequence of their summaries.

    A fully masked inner sequence is a masked step of the outer sequence.

    Args:
        inner: The network over every inner sequence (`Recurrent`, `Bidirectional`, `Stack`).
        outer: The network over the summaries. The return options of both networks have no effect.
        pool: A layer `pool(values, mask=mask) -> (summary, weights)` over the outputs of the inner network, such as
            attention pooling. Without it, the summary is the final output of the inner network (of its last layer).
        return_sequences: Whether to return the output of the outer network at every step instead of the last one alone.
        return_state: Whether to return the states of the outer network after the last step in addition to the output.

    Call arguments:
        inputs: The inputs `[batch, outer time, inner time, features]`.
        mask: The mask `[batch, outer time, inner time]`, True = keep.
        training: Whether to run in training mode.

    Returns the last output of the outer network `[batch, units]`, a vector for the document. With `return_sequences`,
    it returns the output at every step `[batch, outer time, units]` and propagates the mask of the steps; with
    `return_state`, also the states. Use `encoder.read` to get everything as a `Hierarchy`, including the inner outputs
    and the weights of the pool.

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
        return self.outer.output_size

    @property
    def state_size(self) -> list[int]:
        return self.outer.state_size

    def steps_kept(self, mask: Any) -> Any:
        """Return which steps have at least one unmasked inner step."""
        return keras.ops.any(mask, axis=-1)

    def build(self, inputs_shape: Any) -> None:
        """Build both networks and the pool between them."""
        batch, steps, time, features = inputs_shape
        if not self.inner.built:
            self.inner.build((None, time, features))
        width = self.inner.output_size
        if self.pool is not None:  # a symbolic call builds the pool and yields the width of its summaries
            values = keras.KerasTensor((None, time, width), dtype=self.compute_dtype)
            width = self.pool(values, mask=keras.KerasTensor((None, time), dtype="bool"))[0].shape[-1]
        if not self.outer.built:
            self.outer.build((batch, steps, width))
        self.built = True

    def read(self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False) -> Hierarchy:
        """Read all inner sequences at once, then the outer one. The arguments are those of `call`."""
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
        """Read the inputs and return what the return options select."""
        return self.returned(*self.read(inputs, mask, training)[:3])
