"""Networks on top of each other."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.layer import Composed
from seqattn_tf.masking import blank, checked_mask
from seqattn_tf.recurrent.bidirectional import Bidirectional
from seqattn_tf.recurrent.recurrent import Recurrent


def final_output(states: list) -> tf.Tensor:
    """The output after the last step of a network, of a `Stack` that of its last layer, from the states it returned."""
    return tf.nest.flatten(states[-1] if isinstance(states[0], list) else states)[0]


@keras.saving.register_keras_serializable("seqattn_tf")
class Stack(Composed):
    """Recurrent networks on top of each other: each reads the outputs of the one below.

    Args:
        layers: `Recurrent` and `Bidirectional` networks, first to last; or the name of a cell, together with `units`
            and `depth`.
        units: size of each state when a cell is given by name.
        depth: number of layers when a cell is given by name.
        bidirectional: whether the layers of a named cell read in both directions.
        residual: add to the outputs of a layer what it read from below, `y = x + F(x)`. The first layer may change the
            width, and then adds nothing; every other one must keep it.
        skip: let every layer see the inputs beside the outputs below, and give out the outputs of all layers side by
            side (Graves 2013).
        dropout: rate on what a layer reads from below, in training; what a residual adds is not dropped.

    Call arguments:
        inputs, mask, training: as of `Recurrent`.
        initial_state: the states of each layer, as a former call returned them.
        context: `[batch, n]`, for the layers that take one.

    Returns `(outputs, states)`, the states in a list for each layer.

    >>> outputs, states = Stack("gru", units=4, depth=3, residual=True)(tf.ones([2, 5, 3]))
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
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(layers, str):
            if not isinstance(depth, int) or depth < 1:
                raise ValueError(f"depth: expected a positive integer with the cell {layers!r}. Received: {depth!r}")
            kind = Bidirectional if bidirectional else Recurrent
            layers = [kind(layers, units=units, dtype=self.dtype_policy) for _ in range(depth)]
        layers = list(layers)
        if not layers or not all(isinstance(layer, (Recurrent, Bidirectional, Stack)) for layer in layers):
            raise ValueError(f"layers: expected Recurrent and Bidirectional networks. Received: {layers!r}")
        widths = [layer.output_size for layer in layers]
        if residual and len(set(widths)) > 1:
            raise ValueError(f"residual: expected layers of one width. Received: {widths}")
        self.layers = layers
        self.residual = residual
        self.skip = skip
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    @property
    def context(self) -> str | None:
        """What the first layer that takes a fixed vector uses it for."""
        return next((layer.context for layer in self.layers if layer.context is not None), None)

    @property
    def output_size(self) -> int:
        """Width of the outputs."""
        widths = [layer.output_size for layer in self.layers]
        return sum(widths) if self.skip else widths[-1]

    def build(self, inputs_shape: Any, context_shape: Any = None) -> None:
        """Build every layer."""
        *leading, features = inputs_shape
        width = features
        for place, layer in enumerate(self.layers):
            if not layer.built:
                seen = width + features if self.skip and place else width
                layer.build((*leading, seen), context_shape if layer.context is not None else None)
            width = layer.output_size
        self.built = True

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        initial_state: Any = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, list]:
        """Outputs of the last layer, or of all with `skip`; the states of each."""
        if initial_state is not None and len(initial_state) != len(self.layers):
            raise ValueError(f"initial_state: expected {len(self.layers)} lists. Received: {len(initial_state)}")
        if context is not None and self.context is None:
            raise ValueError(f"context: expected a layer that takes one. Received: shape {context.shape}")
        if mask is not None:
            mask = checked_mask(mask, inputs)
            inputs = blank(inputs, mask)
        below, found, states = inputs, [], []
        for place, layer in enumerate(self.layers):
            if initial_state is not None and isinstance(layer, Bidirectional):
                raise ValueError("initial_state: expected layers of one direction. Received: one of both")
            more = {} if initial_state is None else {"initial_state": initial_state[place]}
            if layer.context is not None:
                more["context"] = context
            seen = self.drop(below, training=training) if place else below
            seen = tf.concat([seen, inputs], axis=-1) if self.skip and place else seen
            outputs, last = layer(seen, mask=mask, training=training, **more)
            if self.residual and below.shape[-1] == outputs.shape[-1]:
                outputs = below + outputs
            below = outputs
            found.append(outputs)
            states.append(last)
        return tf.concat(found, axis=-1) if self.skip else below, states

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "residual": self.residual, "skip": self.skip, "dropout": self.dropout}
