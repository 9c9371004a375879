"""Stacks of recurrent networks."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.core.scan import size_of
from seqattn_tf.recurrent.base import Network, RecurrentOutput, check_networks, check_states
from seqattn_tf.recurrent.bidirectional import Bidirectional
from seqattn_tf.recurrent.recurrent import Recurrent


@keras.saving.register_keras_serializable("seqattn_tf")
class Stack(Network):
    """A stack of recurrent networks, each of which reads the outputs of the one below.

    Args:
        layers: `Recurrent`, `Bidirectional` and `Stack` networks, first to last, whose return options have no effect;
            or the name of a cell, together with `units` and `depth`.
        units: The size of each state, if a cell is given by name.
        depth: The number of layers, if a cell is given by name.
        bidirectional: Whether the layers of a named cell read in both directions.
        residual: Whether to add the inputs of a layer to its outputs, `y = x + F(x)`. If the first layer changes the
            width, nothing is added to it; all other layers must preserve the width.
        skip: Whether every layer also reads the inputs of the stack, and the output is the concatenation of the outputs
            of all layers (Graves 2013).
        pyramid: Whether every layer but the first reads pairs of steps of the one below, which halves the number of
            steps (Chan et al. 2016).
        dropout: The dropout rate of the inputs of every layer but the first, in training. The term that `residual` adds
            is not dropped.
        return_sequences, return_state: As in `Recurrent`.

    Call arguments:
        inputs, mask, training: As in `Recurrent`.
        initial_state: The states of all layers, as returned by an earlier call.
        context: A fixed vector `[batch, n]` for the layers that take one.

    Returns the same as `Recurrent`: the last output, or all outputs; with `return_state`, also the states of the first
    layer, of the second, and so on.

    >>> outputs, *states = Stack("gru", units=4, depth=3, return_sequences=True, return_state=True)(tf.ones([2, 5, 3]))
    >>> outputs.shape.as_list(), len(states)
    ([2, 5, 4], 3)
    """

    parts = ("layers",)

    def __init__(
        self,
        layers: str | Sequence[Any],
        units: int | None = None,
        depth: int | None = None,
        bidirectional: bool = False,
        residual: bool = False,
        skip: bool = False,
        pyramid: bool = False,
        dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(return_sequences, return_state, **kwargs)
        if isinstance(layers, str):
            if not isinstance(depth, int) or depth < 1:
                raise ValueError(f"depth: expected a positive integer with the cell {layers!r}. Received: {depth!r}")
            kind = Bidirectional if bidirectional else Recurrent
            layers = [kind(layers, units=units, dtype=self.dtype_policy) for _ in range(depth)]
        layers = check_networks("layers", layers)
        widths = [layer.output_size for layer in layers]
        if residual and len(set(widths)) > 1:
            raise ValueError(f"residual: expected layers of equal width. Received: {widths}")
        if pyramid and (residual or skip):
            raise ValueError(
                "pyramid: expected neither residual nor skip, which need equal numbers of steps. Received: one of them"
            )
        self.layers = layers
        self.context = next((layer.context for layer in layers if layer.context is not None), None)
        self.residual = residual
        self.skip = skip
        self.pyramid = pyramid
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    @property
    def output_size(self) -> int:
        widths = [layer.output_size for layer in self.layers]
        return sum(widths) if self.skip else widths[-1]

    @property
    def state_size(self) -> list[int]:
        """The width of each state, layer by layer."""
        return [size for layer in self.layers for size in layer.state_size]

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        *leading, features = inputs_shape
        width = features
        for place, layer in enumerate(self.layers):
            if not layer.built:
                seen = width + features if self.skip and place else width * (2 if self.pyramid and place else 1)
                layer.build((*leading, seen), context_shape if layer.context is not None else None)
            width = layer.output_size
        self.built = True

    def steps(self, inputs_shape: Any, **others: Any) -> int | None:
        """Return the number of outputs per row; for a pyramid, that of its last layer."""
        steps = inputs_shape[1]
        return -(-steps // self.reduction) if steps is not None else None

    @property
    def reduction(self) -> int:
        """The number of input steps per output step."""
        return 2 ** (len(self.layers) - 1) if self.pyramid else 1

    def steps_kept(self, mask: Any) -> Any:
        """Return the mask of the outputs; for a pyramid, of the steps with at least one unmasked input."""
        for _ in self.layers[1:] if self.pyramid else ():
            mask = _halved(mask)
        return mask

    def final_output(self, states: list) -> tf.Tensor:
        """Return the final output of the last layer, without the residual terms and the outputs of other layers."""
        return self.layers[-1].final_output(states[-1])

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """Return the values at the last step of the last layer; with `skip`, those of each layer for its part."""
        if not self.skip:
            return self.layers[-1].ending(sequence, mask)
        parts = tf.split(sequence, [layer.output_size for layer in self.layers], axis=-1)
        return tf.concat([layer.ending(part, mask) for layer, part in zip(self.layers, parts, strict=True)], axis=-1)

    def _first_states(self, initial_state: Any, inputs: tf.Tensor) -> list:
        """Return the initial states of each layer."""
        if initial_state is None:
            return [None] * len(self.layers)
        states = iter(check_states(initial_state, self.state_size, inputs))
        return [[next(states) for _ in layer.state_size] for layer in self.layers]

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> RecurrentOutput:
        if context is not None and self.context is None:
            raise ValueError(
                f"context: expected None, because no layer takes a context. Received: shape {context.shape}"
            )
        firsts = self._first_states(initial_state, inputs)
        below, found = inputs, []
        for place, (layer, first) in enumerate(zip(self.layers, firsts, strict=True)):
            if self.pyramid and place:
                below, mask = _paired(below, mask)  # the outputs of masked steps are zero
            seen = self.drop(below, training=training) if place else below
            seen = tf.concat([seen, inputs], axis=-1) if self.skip and place else seen
            own = layer.read(seen, first, mask, None if layer.context is None else context, training)
            if self.residual and below.shape[-1] == own.outputs.shape[-1]:
                own = own._replace(outputs=below + own.outputs, last=layer.ending(below, mask) + own.last)
            below = own.outputs
            found.append(own)
        states = [own.states for own in found]
        if not self.skip:
            return RecurrentOutput(below, found[-1].last, states)
        outputs, last = (tf.concat([own[part] for own in found], axis=-1) for part in range(2))
        return RecurrentOutput(outputs, last, states)

    def get_config(self) -> dict[str, Any]:
        names = ("residual", "skip", "pyramid", "dropout")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _halved(mask: Any) -> Any:
    """Return which pairs of steps have an unmasked one: `[batch, time] -> [batch, time / 2]`, rounded up.

    >>> _halved(tf.constant([[True, True, True, False, False]])).numpy().tolist()
    [[True, True, False]]
    """
    kept = keras.ops.expand_dims(keras.ops.cast(mask, "float32"), 2)
    return keras.ops.max_pool(kept, 2, 2, "same", "channels_last")[..., 0] > 0


def _paired(steps: tf.Tensor, mask: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Concatenate pairs of steps, `[batch, time, n] -> [batch, time / 2, 2 n]`, padding an odd one with zeros.

    >>> steps, mask = _paired(tf.reshape(tf.range(1.0, 6.0), [1, 5, 1]), tf.constant([[True] * 3 + [False] * 2]))
    >>> steps.numpy().tolist(), mask.numpy().tolist()
    ([[[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]]], [[True, True, False]])
    """
    width, odd = steps.shape[-1], size_of(steps, 1) % 2
    steps = tf.pad(steps, [[0, 0], [0, odd], [0, 0]])
    steps = tf.reshape(steps, [size_of(steps, 0), -1, 2 * width])
    return steps, None if mask is None else _halved(mask)
