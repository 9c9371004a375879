"""Several attentions that look at one memory together."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.attention.base import Attention, Looking, Memory
from seqattn_tf.core.linear import linear


@keras.saving.register_keras_serializable("seqattn_tf")
class JointAttention(Looking):
    """What several attentions read, side by side.

        c = [c_1; c_2; ...]        c_k = sum_j alpha_kj h_j

    A decoder makes one of a list: `AttentionDecoder(cell, [Attention("additive"), Attention("location")], ...)`. To it
    they are one attention over the places of all, one attention's after the other's.

    Args:
        attentions: the `Attention` layers.

    Call arguments: as of `Attention`.

    Returns `(context, weights)`: the contexts side by side, `[batch, attentions x units]`, and the weights of the
    first, then of the second, `[batch, attentions x source]`; with an axis for several queries before the last.

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
        """Whether a query depends on those before it, for any of them."""
        return any(one.stateful for one in self.attentions)

    @property
    def random(self) -> bool:
        """Whether a look draws random numbers in training."""
        return any(one.random for one in self.attentions)

    def context_size(self, values_size: int) -> int:
        """The contexts are side by side."""
        return values_size * len(self.attentions)

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Build each."""
        for one in self.attentions:
            if not one.built:
                one.build(query_shape, values_shape)
        self.built = True

    def prepare(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> Memory:
        """The keys of each, the values as they are, and the mask once for each."""
        found = [one.prepare(values, mask) for one in self.attentions]
        return Memory(tuple(m.keys for m in found), found[0].values, tf.concat([m.mask for m in found], axis=1))

    def through(self, values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """What each one's rows of the kernel make of the values, one after the other along the source."""
        blocks = tf.split(tf.convert_to_tensor(kernel), len(self.attentions), axis=0)
        return tf.concat([linear(values, block) for block in blocks], axis=1)

    def _apart(self, tensor: tf.Tensor, axis: int) -> list[tf.Tensor]:
        return tf.split(tensor, len(self.attentions), axis=axis)

    def _memories(self, memory: Memory) -> list[Memory]:
        """The memory of each, of one whose values went `through` a kernel."""
        parts = memory.keys, self._apart(memory.values, 1), self._apart(memory.mask, 1)
        return [Memory(*own) for own in zip(*parts, strict=True)]

    def initial_state(self, memory: Memory) -> tuple:
        """Of each."""
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
        """One look of each, or several: what was read added up, the weights side by side."""
        state = self.initial_state(memory) if state is None else state
        triples = zip(self.attentions, self._memories(memory), state, strict=True)
        found = [one.attend(query, own, was, training, query_mask) for one, own, was in triples]
        reads, weights, states = zip(*found, strict=True)
        return tf.add_n(reads), tf.concat(weights, axis=-1), states

    def read(self, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor) -> tf.Tensor:
        """What all read with these weights of values that went `through` a kernel."""
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
        """Each by itself."""
        found = [one.call(query, values, mask, query_mask, training) for one in self.attentions]
        context, weights = (tf.concat(parts, axis=-1) for parts in zip(*found, strict=True))
        return context, weights

    def compute_output_shape(self, query_shape: Any, values_shape: Any) -> tuple[tuple, tuple]:
        """Of the context and of the weights."""
        count, source = len(self.attentions), values_shape[1]
        wide = None if source is None else count * source
        return (*query_shape[:-1], count * values_shape[-1]), (*query_shape[:-1], wide)
