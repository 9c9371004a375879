"""Decoders over a vocabulary, with symbols as inputs and logits as outputs."""

import copy
from typing import Any, ClassVar

import keras
import tensorflow as tf

from seqattn_tf.cells import Cell
from seqattn_tf.core.layer import RegisteredLayer
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import masked_softmax
from seqattn_tf.core.recurrence import compiles, recur
from seqattn_tf.core.scan import scan, to_time_major
from seqattn_tf.decoders.base import Decoder, DecoderMemory, DecoderState, SharedMemory, time_mask, zero_steps

_SAMPLED = ("symbols", "outputs")
SMALL = 1024  # the largest vocabulary for which a loop precomputes a table of all symbols


class SymbolDecoder(RegisteredLayer, Decoder):
    """A decoder that embeds the symbol before each step and scores the symbol after it.

    Subclasses define `_advance`, one step of the loop, `_logits`, the output head, and the weights of both.

    Args:
        cell: The recurrent cell.
        attention: An `Attention`, or a list of several (see `JointAttention`).
        vocabulary: The number of output symbols.
        embedding: The size of a symbol embedding.
        readout: The width of the hidden layer before the logits.
        dropout: The dropout rate of embeddings and readout, in training.
        embedding_dropout: The dropout rate of embeddings, if different. None for the same as `dropout`.
        embeddings_initializer: The initializer of the embeddings, as in Keras.
        scheduled_sampling: The probability, in training, that a step reads the decoder's own prediction instead of the
            given symbol. It is stored in the weight `sampling_rate`, which a schedule may assign. Random numbers of
            cells, including `DropoutCell`, are then drawn at every step.
        sampling_from: What such a step reads: `"symbols"` for the most probable symbol, or `"outputs"` for the
            embeddings of all symbols weighted by their probabilities, which has a gradient.
        mask_zero: Whether the symbol 0 is padding. Steps that read it are masked, and Keras's losses and metrics ignore
            them.
        jit_compile, bridge: As in `Decoder`.

    Call arguments:
        tokens: The symbols before each step (shifted right), `[batch, target]`.
        values: The values to attend to, `[batch, source, units]`.
        summary: A vector `[batch, units]` from which the initial states are computed.
        mask: The mask of the values, `[batch, source]`, True = keep.
        initial_state: The initial states, such as those returned by an encoder, in place of a summary. Without either,
            the cell's own are used.
        tokens_mask: The mask of the steps, `[batch, target]`. A masked step leaves the state unchanged and outputs
            zeros.

    Returns `(logits [batch, target, vocabulary], weights [batch, target, source])`. The mask of the steps is propagated
    to both.
    """

    registry: ClassVar[dict[str, type]] = {}

    def __init__(
        self,
        cell: Cell,
        attention: Any,
        vocabulary: int,
        embedding: int = 64,
        readout: int = 128,
        dropout: float = 0.0,
        scheduled_sampling: float = 0.0,
        sampling_from: str = "symbols",
        mask_zero: bool = False,
        embedding_dropout: float | None = None,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, attention, **kwargs)
        if not 0 <= scheduled_sampling <= 1:
            raise ValueError(f"scheduled_sampling: expected a number from 0 to 1. Received: {scheduled_sampling}")
        if sampling_from not in _SAMPLED:
            raise ValueError(f"sampling_from: expected one of {_SAMPLED}. Received: {sampling_from!r}")
        self.vocabulary, self.readout, self.dropout = vocabulary, readout, dropout
        self.scheduled_sampling = scheduled_sampling
        self.sampling_from, self.mask_zero = sampling_from, mask_zero
        self.embedding = keras.layers.Embedding(
            vocabulary, embedding, embeddings_initializer=embeddings_initializer, dtype=self.dtype_policy
        )
        self.drop = self.drop_symbols = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        self.embedding_dropout = embedding_dropout
        if embedding_dropout is not None:
            self.drop_symbols = keras.layers.Dropout(embedding_dropout, dtype=self.dtype_policy)
        self.coins = keras.random.SeedGenerator()

    def build(self, tokens_shape: Any, values_shape: Any, summary_shape: Any = None) -> None:
        """Build the parts, and create the weights of the step and of the head."""
        self.embedding.build(tokens_shape)
        self._build_parts(self.embedding.output_dim, values_shape)
        looked = self.attention.context_size(values_shape[-1])
        self.context_kernel = self.add_weight(name="context_kernel", shape=(looked, self.read_size))
        self._build_first(summary_shape)
        self._build_head(looked)
        self.output_kernel = self.add_weight(name="output_kernel", shape=(self.readout, self.vocabulary))
        self.output_bias = self.add_weight(name="output_bias", shape=(self.vocabulary,), initializer="zeros")
        if self.scheduled_sampling:
            constant = keras.initializers.Constant(self.scheduled_sampling)
            self.sampling_rate = self.add_weight((), constant, name="sampling_rate", trainable=False, autocast=False)
        self.built = True

    @property
    def read_size(self) -> int:
        """The width of what the loop reads, the sum to which the projected context is added."""
        raise NotImplementedError

    def _build_head(self, looked: int) -> None:
        """Create the other weights of `_advance` and `_logits`, for contexts of this width."""
        raise NotImplementedError

    def projected(self, values: tf.Tensor) -> tf.Tensor:
        """Apply the context kernel of the loop to the values, position by position, because reading is linear."""
        return self.attention.through(values, self.context_kernel)

    def _loop_weights(self) -> list:
        """Return the weights that `_advance` reads."""
        return [*self.cell.weights, *self.attention.weights]

    def _advance(
        self, projected: Any, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[DecoderState, tf.Tensor]:
        """Take one step, given the projected symbol embedding; return the new state and the attention weights."""
        raise NotImplementedError

    def _logits(
        self,
        first: DecoderState,
        states: DecoderState,
        weights: tf.Tensor,
        memory: DecoderMemory,
        shown: Any,
        training: bool,
    ) -> tf.Tensor:
        """Return the logits of all steps at once, given the state before the first step and the states after each."""
        raise NotImplementedError

    def _shown(self, embedded: tf.Tensor) -> Any:
        """Return what `_logits` requires of the embedded symbols."""
        return ()

    def steps_kept(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the symbols. Without one, `mask_zero` masks all symbols 0."""
        mask = super().steps_kept(inputs, mask)
        return keras.ops.not_equal(inputs, 0) if mask is None and self.mask_zero else mask

    def run(
        self,
        tokens: tf.Tensor,
        values: tf.Tensor,
        summary: tf.Tensor | None = None,
        mask: tf.Tensor | None = None,
        initial_state: Any = None,
        tokens_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """Run the decoder like `call`, and also return the state after the last step.

        For sampled attention, that state contains the log-probabilities.
        """
        if not self.built:
            self.build(tokens.shape, values.shape, None if summary is None else summary.shape)
        memory, first = self.begin(values, mask, summary, initial_state)
        tokens_mask = self.steps_kept(tokens, tokens_mask)
        keep = time_mask(tokens_mask, tokens)
        if training and self.scheduled_sampling:
            logits, weights, last = self._sampled(tokens, memory, first, keep)
        else:
            embedded = self.drop_symbols(self.embedding(tokens), training=training)
            projected = self.cell.project(to_time_major(embedded), training=training)
            states, weights, last = self._over_time(projected, memory, first, keep, training)
            logits = self._logits(first, states, weights, memory, self._shown(embedded), training)
        return *zero_steps(tokens_mask, logits, weights), last

    def _over_time(
        self, projected: Any, memory: DecoderMemory, first: DecoderState, keep: tf.Tensor | None, training: bool
    ) -> tuple[DecoderState, tf.Tensor, DecoderState]:
        """Return the states after every step and the weights, batch first, and the last state."""

        def step(element: Any, carry: tuple, memory: DecoderMemory) -> tuple:
            return self._advance(element, carry[0], memory, training)

        start = (first, tf.zeros_like(memory.mask, memory.values.dtype))
        compiled = not (training and self.attention.random) and compiles(self.jit_compile, projected, training)
        weights = self._loop_weights() if compiled else ()
        (states, looks), (last, _) = recur(step, projected, start, memory, weights, keep, compiled=compiled)
        return tf.nest.map_structure(to_time_major, states), to_time_major(looks), last

    def _sampled(
        self, tokens: tf.Tensor, memory: DecoderMemory, first: DecoderState, keep: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """Run all steps with scheduled sampling: each step reads, at random, its prediction or the given symbol."""
        tokens = to_time_major(tokens)  # [target, batch]
        coins = keras.random.uniform(tf.shape(tokens), seed=self.coins)
        own = coins < self.sampling_rate.value
        own = tf.concat([tf.zeros_like(own[:1]), own[1:]], axis=0)  # the first symbol is always given

        def step(element: tuple, carry: tuple) -> tuple:
            (token, own), (logits, _, state) = element, carry
            embedded = tf.where(own[:, None], self._said(logits), self.embedding(token))
            return self._step(embedded, state, memory, training=True)

        nothing = tf.zeros([tf.shape(tokens)[1], self.vocabulary], memory.values.dtype)
        start = (nothing, tf.zeros_like(memory.mask, memory.values.dtype), first)
        (logits, weights, _), (_, _, last) = scan(step, (tokens, own), start, keep)
        return to_time_major(logits), to_time_major(weights), last

    def _said(self, logits: tf.Tensor) -> tf.Tensor:
        """Return the embedded prediction of the decoder: `[batch, vocabulary] -> [batch, embedding]`."""
        if self.sampling_from == "symbols":
            return self.embedding(tf.argmax(logits, axis=-1, output_type=tf.int32))
        return linear(masked_softmax(logits), self.embedding.embeddings)

    def call(
        self,
        tokens: tf.Tensor,
        values: tf.Tensor,
        summary: tf.Tensor | None = None,
        mask: tf.Tensor | None = None,
        initial_state: Any = None,
        tokens_mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Run all steps by teacher forcing, each with the given previous symbol."""
        return self.run(tokens, values, summary, mask, initial_state, tokens_mask, training)[:2]

    def compute_output_shape(self, tokens_shape: Any, values_shape: Any, **others: Any) -> tuple[tuple, tuple]:
        _, weights = self.attention.compute_output_shape((None, self.cell.output_size), values_shape)
        return (*tokens_shape, self.vocabulary), (*tokens_shape, weights[-1])

    def step(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """Generate a step: `tokens [batch] -> (logits [batch, vocabulary], weights [batch, source], state)`."""
        return self._step(self.embedding(tokens), state, memory, training=False)

    def _step(
        self, embedded: tf.Tensor, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        embedded = self.drop_symbols(embedded, training=training)
        shown = (self.cell.project(embedded, training=training), self._shown(embedded))
        return self._go_on(shown, state, memory, training)

    def _go_on(
        self, shown: tuple, state: DecoderState, memory: DecoderMemory, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        """Take one step, given the embedded symbol as projected for the cell and for the head."""
        projected, shown = shown
        after, weights = self._advance(projected, state, memory, training)
        one = tf.nest.map_structure(lambda tensor: tf.expand_dims(tensor, 1), (after, weights, shown))
        logits = self._logits(state, one[0], one[1], memory, one[2], training)
        return tf.squeeze(logits, 1), weights, after

    def stepper(self) -> "Stepper":
        """Return a `Stepper`, which computes `step` faster in a loop."""
        return Stepper(self)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary": self.vocabulary,
            "embedding": self.embedding.output_dim,
            "readout": self.readout,
            "dropout": self.dropout,
            "embedding_dropout": self.embedding_dropout,
            "embeddings_initializer": keras.initializers.serialize(self.embedding.embeddings_initializer),
            "scheduled_sampling": self.scheduled_sampling,
            "sampling_from": self.sampling_from,
            "mask_zero": self.mask_zero,
        }


class Stepper:
    """The step of a decoder, optimized for one loop: `step(tokens, state, memory) -> (logits, weights, state)`.

    Its results equal those of the decoder's own step. Everything that depends on a symbol alone is looked up in a
    table, if the vocabulary is small enough to compute it for all symbols before the loop. Beams share a memory unless
    the attention is stateful. Create a stepper in the graph that contains the loop.
    """

    def __init__(self, decoder: SymbolDecoder) -> None:
        self.decoder, self.beams = decoder, 1
        self._tables = None
        if decoder.vocabulary <= SMALL:
            embedded = tf.cast(tf.convert_to_tensor(decoder.embedding.embeddings), decoder.compute_dtype)
            self._tables = (decoder.cell.project(embedded), decoder._shown(embedded))

    def for_beams(self, beams: int) -> "Stepper | None":
        """Return a stepper for `beams` state rows per memory row, or None if the attention does not allow it."""
        if self.decoder.attention.stateful:
            return None
        shared = copy.copy(self)
        shared.beams = beams
        return shared

    def __call__(
        self, tokens: tf.Tensor, state: DecoderState, memory: DecoderMemory
    ) -> tuple[tf.Tensor, tf.Tensor, DecoderState]:
        memory = memory if self.beams == 1 else SharedMemory(memory, self.beams)
        if self._tables is None:
            return self.decoder.step(tokens, state, memory)
        shown = tf.nest.map_structure(lambda table: tf.gather(table, tokens), self._tables)
        return self.decoder._go_on(shown, state, memory, training=False)
