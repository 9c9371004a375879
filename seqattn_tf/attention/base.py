"""`Attention`: score -> align -> read, with the memory prepared once per sequence.

    e_j = score(q, key_j)        alpha = align(e, mask)        c = sum_j alpha_j value_j

In a model, call `attention(query, values, mask)`. In a loop, call `memory = attention.prepare(values, mask)` and
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
    """The memory that attention reads from, one row per example. It is never copied for beams."""

    keys: tf.Tensor  # [batch, source, key units], compared with queries
    values: tf.Tensor  # [batch, source, units], averaged into the context
    mask: tf.Tensor  # [batch, source], True = keep


class AttentionState(NamedTuple):
    """The state passed from one query to the next: tensors with the batch on the leading axis."""

    score: tuple = ()
    align: tuple = ()


class Part(RegisteredLayer):
    """The base class of scores and alignments, both of which may keep a state from query to query."""

    def initial_state(self, mask: tf.Tensor, dtype: tf.DType) -> tuple:
        """Return the state before the first query, for a memory with this mask `[batch, source]`."""
        return ()

    @property
    def remembers(self) -> bool:
        """Whether a query depends on the ones before it."""
        return type(self).initial_state is not Part.initial_state

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments.

        Without this override Keras guesses them, which fails for a class without any.
        """
        return super().get_config()


class Score(Part):
    """A measure of how well a query matches each position. Subclasses define `prepare` and `call`.

    Scores that depend on earlier attention weights also define `initial_state` and `remember`.
    """

    registry: ClassVar[dict[str, type]] = {}

    def build(self, query_shape: Any, values_shape: Any) -> None:
        """Do nothing: by default a score has no weights."""
        self.built = True

    def prepare(self, values: tf.Tensor) -> tf.Tensor:
        """Compute the keys, which depend on the memory alone: `[batch, source, units] -> [batch, source, keys]`.

        This runs once per sequence.
        """
        raise NotImplementedError

    def call(self, query: tf.Tensor, keys: tf.Tensor, state: tuple = ()) -> tf.Tensor:
        """Compute the scores: `[batch, queries, units], [batch, source, keys] -> [batch, queries, source]`."""
        raise NotImplementedError

    def remember(self, state: tuple, weights: tf.Tensor) -> tuple:
        """Return the state after a query with these attention weights, `[batch, source]`."""
        return state


class Alignment(Part):
    """A mapping from scores to attention weights. Subclasses define `call`, and `initial_state` if they keep a state.

    Masked positions and positions with a logit of `-inf` get a weight of 0.
    """

    registry: ClassVar[dict[str, type]] = {}
    meaning: ClassVar[str]  # how to read the weights: "distribution", "independent", "marginals" or "sample"

    @property
    def random(self) -> bool:
        """Whether `call` draws random numbers in training, which rules out loops that run a step twice."""
        return False

    def build(self, logits_shape: Any = None) -> None:
        """Do nothing: by default an alignment has no weights."""
        self.built = True

    def call(
        self, logits: tf.Tensor, mask: tf.Tensor, state: tuple = (), training: bool = False
    ) -> tuple[tf.Tensor, tuple]:
        """Compute the weights: `[batch, queries, source], [batch, 1, source] -> ([batch, queries, source], state)`."""
        raise NotImplementedError


def first_kept(mask: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Return 1 at the first unmasked position of each row: `[batch, source] -> [batch, source]`.

    >>> first_kept(tf.constant([[False, True, True], [False, False, False]]), tf.float32).numpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return tf.cast(mask & (tf.cumsum(tf.cast(mask, tf.int32), axis=1) == 1), dtype)


def at_least_single(dtype: tf.DType) -> tf.DType:
    """Return the precision for sums over many queries: the given one, but at least float32."""
    return tf.float32 if dtype.size < 4 else dtype


def _takes_units(score: Any) -> bool:
    kind = Score.member(score) if isinstance(score, str) else None
    return kind is not None and "units" in inspect.signature(kind).parameters


class BaseAttention(Composed):
    """The attention interface of decoders: `prepare`, `initial_state`, `attend`, `read` and the two methods below.

    Reading is linear, so a kernel that is applied to the context may be applied to the values beforehand, position by
    position.
    """

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Propagate the mask of a sequence of queries; a single query has none."""
        mask = mask_of(inputs) if len(inputs.shape) == 3 else None
        return mask, mask

    def masks_on(self, query_mask: Any = None, **others: Any) -> Any:
        """Propagate an explicit `query_mask`, which takes precedence over the implicit one."""
        return None if query_mask is None else (query_mask, query_mask)

    def context_size(self, values_size: int) -> int:
        """Return the width of the context for values of width `values_size`."""
        return values_size

    def through(self, values: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """Multiply the values by the kernel, in the form that `attend` and `read` expect.

        The result of reading is then the context multiplied by the kernel.
        """
        return linear(values, kernel)


@keras.saving.register_keras_serializable("seqattn_tf")
class Attention(BaseAttention):
    """Attention over the time axis of `values`.

    Args:
        score: A `Score` or its name (`"additive"`, `"dot"`, `"location"`, ...).
        align: An `Alignment` or its name (`"softmax"`, `"sparsemax"`, `"crf"`, ...).
        units: The width of the hidden layer of the score, if the score is given by name and has one.
        gate: Whether the query also controls how much is read: the context is multiplied by `sigmoid(w . q + b)`.

    Call arguments:
        query: A query `[batch, units]` or a sequence of queries `[batch, queries, units]`.
        values: The values `[batch, source, units]`.
        mask: The mask of the values, `[batch, source]`, True = keep. A fully masked row reads zeros.
        query_mask: The mask of a sequence of queries, `[batch, queries]`. A masked query reads zeros and leaves the
            state unchanged.

    Returns `(context, weights)`. If the score or the alignment keeps a state, a sequence of queries is processed in
    order. The mask of the queries is propagated to both outputs.

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
        """Whether a query depends on the ones before it."""
        return self.score.remembers or self.align.remembers

    @property
    def random(self) -> bool:
        """Whether attending draws random numbers in training, which rules out loops that run a step twice."""
        return self.align.random

    def build(self, query_shape: Any, values_shape: Any) -> None:
        if not self.score.built:
            self.score.build(query_shape, values_shape)
        if not self.align.built:
            self.align.build()
        if self.gate:
            self.gate_kernel = self.add_weight(name="gate_kernel", shape=(query_shape[-1], 1))
            self.gate_bias = self.add_weight(name="gate_bias", shape=(1,), initializer="zeros")
        self.built = True

    def prepare(self, values: tf.Tensor, mask: tf.Tensor | None = None) -> Memory:
        """Compute the memory that all queries of a sequence share."""
        values = as_tensor(values, self.compute_dtype)
        if values.shape.rank != 3:
            raise ValueError(f"values: expected [batch, source, units]. Received shape: {values.shape}")
        values, mask = masked_values(values, mask)  # a weight of zero times NaN would still be NaN
        return Memory(self.score.prepare(values), values, mask)

    def initial_state(self, memory: Memory) -> AttentionState:
        """Return the state of score and alignment before the first query."""
        mask, dtype = memory.mask, memory.keys.dtype
        return AttentionState(self.score.initial_state(mask, dtype), self.align.initial_state(mask, dtype))

    def logits(self, query: tf.Tensor, memory: Memory, state: AttentionState | None = None) -> tf.Tensor:
        """Return the scores before the alignment: `[batch, source]`, or `[batch, queries, source]` for several queries.

        Several queries all use the same state.
        """
        state = self.initial_state(memory) if state is None else state
        if query.shape.rank == 2:
            return tf.squeeze(self.score.call(tf.expand_dims(query, 1), memory.keys, state.score), 1)
        return self.score.call(query, memory.keys, state.score)

    def read(self, weights: tf.Tensor, values: tf.Tensor, query: tf.Tensor) -> tf.Tensor:
        """Return the context, linear in the values: `[batch, source], [batch, source, units] -> [batch, units]`.

        Weights and query either both have an axis of queries or neither has one.
        """
        if query.shape.rank == 2:
            return tf.squeeze(self.read(tf.expand_dims(weights, 1), values, tf.expand_dims(query, 1)), 1)
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
        """Return `(context, weights, state)` for one or several queries, of the same rank as the query."""
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
        query = tf.expand_dims(query, 1) if single else query
        # Call the parts directly: Keras's `__call__` would cast their states to half precision.
        logits = self.score.call(query, memory.keys, state.score)
        weights, aligned = self.align.call(logits, tf.expand_dims(memory.mask, 1), state.align, training)
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
        """Process queries in order. Only the state requires the loop; the contexts of all queries are read after it."""

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
        """Prepare the memory and attend to it."""
        query_mask = query_mask if len(query.shape) == 3 else None
        memory = self.prepare(values, mask)
        context, weights, _ = self.attend(query, memory, training=training, query_mask=query_mask)
        return context, weights

    def compute_output_shape(self, query_shape: Any, values_shape: Any) -> tuple[tuple, tuple]:
        return (*query_shape[:-1], values_shape[-1]), (*query_shape[:-1], values_shape[1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "gate": self.gate}
