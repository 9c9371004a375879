"""`Attention`: score -> align -> read, with the memory prepared once per sequence.

    e_j = score(q, key_j)        alpha = align(e, mask)        c = sum_j alpha_j value_j

In a model, `attention(query, values, mask)`. In a loop, `memory = attention.prepare(values, mask)` and
`state = attention.initial_state(memory)` once, then `attention.attend(query, memory, state)` at every step.
"""

import inspect
from typing import Any, ClassVar, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.core.layer import Composed, RegisteredLayer, as_tensor
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import check_mask, mask_of, masked_values, zero_masked
from seqattn_tf.core.products import product
from seqattn_tf.core.scan import scan, to_time_major


class Memory(NamedTuple):
    """What attention reads from, one entry per example: never copied for beams."""

    keys: tf.Tensor  # [batch, source, key units], what scores compare with
    values: tf.Tensor  # [batch, source, units], what is read
    mask: tf.Tensor  # [batch, source], True = keep


class AttentionState(NamedTuple):
    """What a look leaves for the next: tensors with the batch on the leading axis."""

    score: tuple = ()
    align: tuple = ()


class Part(RegisteredLayer):
    """What scores and alignments share: both may remember something from query to query."""

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple:
        """What is remembered before the first query, of a memory with this mask `[batch, source]`."""
        return ()

    @property
    def remembers(self) -> bool:
        """Whether a query depends on those before it."""
        return type(self).initial_state is not Part.initial_state

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments; Keras guesses them, and fails, for a class that does not say it has none."""
        return super().get_config()


class Score(Part):
    """How well a query matches each place; a subclass gives `prepare` and `call`.

    One that looks at its own past also gives `initial_state` and `remember`.
    """

    registry: ClassVar[dict[str, type]] = {}

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Nothing to learn."""
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """What depends on the memory alone, once per sequence: `[batch, source, units] -> [batch, source, keys]`."""
        raise NotImplementedError

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        """`[batch, queries, units], [batch, source, keys] -> [batch, queries, source]`."""
        raise NotImplementedError

    def remember(self, state: tuple, weights: tf.Tensor) -> tuple:
        """The state after a query that got these weights, `[batch, source]`."""
        return state


class Alignment(Part):
    """How matches become weights; a subclass gives `call`, and `initial_state` if it remembers.

    A place that the mask does not keep has the weight 0, and so has one whose logit is `-inf`.
    """

    registry: ClassVar[dict[str, type]] = {}
    meaning: ClassVar[str]  # what to read weights as: "distribution", "independent", "marginals" or "sample"

    @property
    def random(self) -> bool:
        """Whether `call` draws random numbers in training: not for a loop that runs a step twice."""
        return False

    def build(self, logits_shape: Any = None) -> None:
        """Nothing to learn."""
        self.built = True

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """`[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
        raise NotImplementedError


def first_kept(mask: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """One at the first kept place of each row: `[batch, source] -> [batch, source]`.

    >>> first_kept(tf.constant([[False, True, True], [False, False, False]]), tf.float32).numpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return tf.cast(mask & (tf.cumsum(tf.cast(mask, tf.int32), axis=1) == 1), dtype)


def at_least_single(dtype: tf.DType) -> tf.DType:
    """The precision for what is added up over many queries: half is too narrow."""
    return tf.float32 if dtype.size < 4 else dtype


def _takes_units(score: Any) -> bool:
    kind = Score.member(score) if isinstance(score, str) else None
    return kind is not None and "units" in inspect.signature(kind).parameters


class Looking(Composed):
    """What a decoder asks of its attention: `prepare`, `initial_state`, `attend` and `read`, and these two.

    Reading is linear: what a kernel makes of the context, it may make of the values before, place by place.
    """

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """That of several queries goes on."""
        mask = mask_of(inputs) if len(inputs.shape) == 3 else None
        return mask, mask

    def masks_on(self, query_mask: Any = None, **others: Any) -> Any:
        """The one that is given wins."""
        return None if query_mask is None else (query_mask, query_mask)

    def context_size(self, values_size: int) -> int:
        """Width of the context, of values of this width."""
        return values_size

    def through(self, values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """The values as `attend` and `read` take them, for a context that is multiplied by the kernel."""
        return linear(values, kernel)


@keras.saving.register_keras_serializable("seqattn_tf")
class Attention(Looking):
    """Attention over the time axis of `values`.

    Args:
        score: a `Score` or its name (`"additive"`, `"dot"`, `"location"`, ...).
        align: an `Alignment` or its name (`"softmax"`, `"sparsemax"`, `"crf"`, ...).
        units: width of the score's hidden layer, for a score given by name that has one.
        gate: whether the query also says how much to read: the context is multiplied by `sigmoid(w . q + b)`.

    Call arguments:
        query: `[batch, units]`, or several, `[batch, queries, units]`.
        values: `[batch, source, units]`.
        mask: of the values, `[batch, source]`, True = keep. A row with nothing to keep reads zeros.
        query_mask: of several queries, `[batch, queries]`. One that is not kept reads zeros and is not remembered.

    Returns `(context, weights)`. Where something is remembered, several queries are taken in their order. The mask of
    the queries goes on with both.

    >>> context, weights = Attention(units=8)(tf.ones([2, 3]), tf.ones([2, 5, 4]))
    >>> context.shape.as_list(), weights.shape.as_list()
    ([2, 4], [2, 5])
    """

    parts = ("score", "align")

    def __init__(
        self,
        score: str | Score = "additive",
        align: str | Alignment = "softmax",
        units: int | None = None,
        gate: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        width = {"units": units} if units is not None and _takes_units(score) else {}
        self.score = Score.get(score, dtype=self.dtype_policy, **width)
        self.align = Alignment.get(align, dtype=self.dtype_policy)
        self.gate = gate

    @property
    def stateful(self) -> bool:
        """Whether a query depends on those before it."""
        return self.score.remembers or self.align.remembers

    @property
    def random(self) -> bool:
        """Whether a look draws random numbers in training: not for a loop that runs a step twice."""
        return self.align.random

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Build the score, the alignment and the gate."""
        if not self.score.built:
            self.score.build(query_shape, values_shape)
        if not self.align.built:
            self.align.build()
        if self.gate:
            self.gate_kernel = self.add_weight(name="gate_kernel", shape=(query_shape[-1], 1))
            self.gate_bias = self.add_weight(name="gate_bias", shape=(1,), initializer="zeros")
        self.built = True

    def prepare(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> Memory:
        """What all queries of one sequence share."""
        values = as_tensor(values, self.compute_dtype)
        if values.shape.rank != 3:
            raise ValueError(f"values: expected [batch, source, units]. Received shape: {values.shape}")
        values, mask = masked_values(values, mask)  # zero weight on NaN would still be NaN
        return Memory(self.score.prepare(values), values, mask)

    def initial_state(self, memory: Memory) -> AttentionState:
        """What score and alignment remember before the first query."""
        mask, dtype = memory.mask, memory.keys.dtype
        return AttentionState(self.score.initial_state(mask, dtype), self.align.initial_state(mask, dtype))

    def logits(self, query: tf.Tensor, memory: Memory, state: AttentionState | None = None) -> tf.Tensor:
        """How well every place matches, before the alignment: `[batch, source]`, or `[batch, queries, source]`.

        Several queries all see the same state.
        """
        state = self.initial_state(memory) if state is None else state
        if query.shape.rank == 2:
            return tf.squeeze(self.score.call(query[:, None], memory.keys, state.score), 1)
        return self.score.call(query, memory.keys, state.score)

    def read(self, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor) -> tf.Tensor:
        """The context, linear in the values: `[batch, source], [batch, source, units] -> [batch, units]`.

        Weights and query have an axis of queries, or neither has one.
        """
        if query.shape.rank == 2:
            return tf.squeeze(self.read(weights[:, None], values, query[:, None]), 1)
        context = product(weights, values)
        if not self.gate:
            return context
        return context * tf.sigmoid(linear(query, self.gate_kernel, self.gate_bias))

    def attend(
        self,
        query: tf.Tensor,
        memory: Memory,
        state: AttentionState | None = None,
        training: bool = False,
        query_mask: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, AttentionState]:
        """One look, or several: `(context, weights, state)`, with as many axes as the query has."""
        query = as_tensor(query, self.compute_dtype)
        if query.shape.rank not in (2, 3):
            raise ValueError(
                f"query: expected [batch, units] or [batch, queries, units]. Received: shape {query.shape}"
            )
        state = self.initial_state(memory) if state is None else state
        single = query.shape.rank == 2
        if query_mask is not None:
            query_mask = check_mask(query_mask, query)
            query = zero_masked(query, query_mask)
        if not single and self.stateful:
            return self._in_order(query, memory, state, training, query_mask)
        query = query[:, None] if single else query
        # The parts are called without Keras's ceremony: it would cast what they remember to half precision.
        logits = self.score.call(query, memory.keys, state.score)
        weights, aligned = self.align.call(logits, memory.mask[:, None], state.align, training)
        weights = weights if query_mask is None else zero_masked(weights, query_mask)
        context = self.read(weights, memory.values, query)
        if single:
            context, weights = tf.squeeze(context, 1), tf.squeeze(weights, 1)
        return context, weights, AttentionState(self.score.remember(state.score, weights), aligned)

    def _in_order(
        self,
        query: tf.Tensor,
        memory: Memory,
        state: AttentionState,
        training: bool,
        query_mask: tf.Tensor | None,
    ) -> tuple[tf.Tensor, tf.Tensor, AttentionState]:
        """Every query after the one before it; only what they remember needs the loop, so the reading is done after."""

        def step(one: tf.Tensor, carry: tuple) -> tuple:
            return self.attend(one, memory, carry[1], training)[1:]

        nothing = tf.zeros_like(memory.mask, memory.keys.dtype)
        keep = None if query_mask is None else to_time_major(query_mask)
        (weights, _), (_, state) = scan(step, to_time_major(query), (nothing, state), keep)
        weights = to_time_major(weights)
        weights = weights if query_mask is None else zero_masked(weights, query_mask)
        return self.read(weights, memory.values, query), weights, state

    def call(
        self,
        query: tf.Tensor,
        values: tf.Tensor,
        mask: tf.Tensor | None = None,
        query_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Prepare and attend at once."""
        query_mask = query_mask if len(query.shape) == 3 else None
        memory = self.prepare(values, mask)
        context, weights, _ = self.attend(query, memory, training=training, query_mask=query_mask)
        return context, weights

    def compute_output_shape(self, query_shape: Any, values_shape: Any) -> tuple[tuple, tuple]:
        """Of the context and of the weights."""
        return (*query_shape[:-1], values_shape[-1]), (*query_shape[:-1], values_shape[1])

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "gate": self.gate}
