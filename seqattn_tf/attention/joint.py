"""Several attentions that read the same memory side by side."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Attention, BaseAttention, Memory
from seqattn_tf.core.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class JointAttention(BaseAttention):
    """Several attentions over the same memory, with their contexts concatenated.

        c = [c_1; c_2; ...]        c_k = sum_j alpha_kj h_j

    A decoder creates one from a list: `AttentionDecoder(cell, [Attention("additive"), Attention("location")], ...)`.
    The decoder treats them as a single attention over the concatenation of their positions.

    Args:
        attentions: The `Attention` layers.

    The call arguments are those of `Attention`.

    Returns `(context, weights)`: the concatenated contexts `[batch, attentions x units]` and the concatenated weights
    `[batch, attentions x source]`; for several queries, with an axis of queries before the last one.

    >>> joint = JointAttention([Attention(units=8), Attention("general")])
    >>> context, weights = joint(tf.ones([2, 3]), tf.ones([2, 5, 4]))
    >>> context.shape.as_list(), weights.shape.as_list()
    ([2, 8], [2, 10])
    """

    parts = ("attentions",)

    def __init__(self, attentions: Sequence[Attention], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.attentions = list(attentions)
        if not self.attentions or not all(isinstance(one, Attention) for one in self.attentions):
            raise ValueError(f"attentions: expected at least one Attention. Received: {attentions!r}")

    @property
    def stateful(self) -> bool:
        """Whether a query depends on the ones before it in any of the attentions."""
        return any(one.stateful for one in self.attentions)

    @property
    def random(self) -> bool:
        """Whether any of the attentions draws random numbers in training."""
        return any(one.random for one in self.attentions)

    def context_size(self, values_size: int) -> int:
        """Return the total width of the concatenated contexts."""
        return values_size * len(self.attentions)

    def build(self, query_shape: Any, values_shape: Any) -> None:
        for one in self.attentions:
            if not one.built:
                one.build(query_shape, values_shape)
        self.built = True

    def prepare(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> Memory:
        """Compute the memory: the keys of each attention, the values, and the mask repeated for each attention."""
        found = [one.prepare(values, mask) for one in self.attentions]
        return Memory(tuple(m.keys for m in found), found[0].values, tf.concat([m.mask for m in found], axis=1))

    def through(self, values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """Multiply the values by each attention's rows of the kernel, concatenated along the source axis."""
        blocks = tf.split(tf.convert_to_tensor(kernel), len(self.attentions), axis=0)
        return tf.concat([linear(values, block) for block in blocks], axis=1)

    def _apart(self, tensor: tf.Tensor, axis: int) -> list[tf.Tensor]:
        return tf.split(tensor, len(self.attentions), axis=axis)

    def _memories(self, memory: Memory) -> list[Memory]:
        """Split a memory whose values went `through` a kernel into one memory per attention."""
        parts = memory.keys, self._apart(memory.values, 1), self._apart(memory.mask, 1)
        return [Memory(*own) for own in zip(*parts, strict=True)]

    def initial_state(self, memory: Memory) -> tuple:
        memories = self._memories(memory)
        return tuple(one.initial_state(own) for one, own in zip(self.attentions, memories, strict=True))

    def attend(
        self,
        query: tf.Tensor,
        memory: Memory,
        state: tuple | None = None,
        training: bool = False,
        query_mask: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tuple]:
        """Return the sum of what the attentions read, their concatenated weights and their states."""
        state = self.initial_state(memory) if state is None else state
        triples = zip(self.attentions, self._memories(memory), state, strict=True)
        found = [one.attend(query, own, was, training, query_mask) for one, own, was in triples]
        reads, weights, states = zip(*found, strict=True)
        return tf.add_n(reads), tf.concat(weights, axis=-1), states

    def read(self, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor) -> tf.Tensor:
        """Sum what all attentions read with these weights from values that went `through` a kernel."""
        triples = zip(self.attentions, self._apart(weights, -1), self._apart(values, 1), strict=True)
        return tf.add_n([one.read(own, theirs, query) for one, own, theirs in triples])

    def call(
        self,
        query: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor | None = None,
        query_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Apply every attention and concatenate their contexts and weights."""
        found = [one.call(query, values, mask, query_mask, training) for one in self.attentions]
        context, weights = (tf.concat(parts, axis=-1) for parts in zip(*found, strict=True))
        return context, weights

    def compute_output_shape(self, query_shape: Any, values_shape: Any) -> tuple[tuple, tuple]:
        count, source = len(self.attentions), values_shape[1]
        wide = None if source is None else count * source
        return (*query_shape[:-1], count * values_shape[-1]), (*query_shape[:-1], wide)
