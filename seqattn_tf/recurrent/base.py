"""The base classes of recurrent layers, which return the same as Keras's own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.layer import Composed
from seqattn_tf.core.masking import check_mask, mask_of, zero_masked
from seqattn_tf.core.scan import size_of


class RecurrentOutput(NamedTuple):
    """Everything that a network computes, regardless of what its call returns."""

    outputs: tf.Tensor  # [batch, time, units]
    last: tf.Tensor  # [batch, units], zeros in a fully masked row
    states: list  # after the last step: [batch, units] each; for a `Stack`, one list per layer


def at_end(sequence: tf.Tensor, mask: tf.Tensor | None, reverse: bool = False) -> tf.Tensor:
    """Return the values at the last unmasked step (with `reverse`, the first), or zeros if there is none: `[batch, n]`.

    >>> at_end(tf.constant([[[1.0], [2.0], [3.0]]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[2.0]]
    """
    time = size_of(sequence, 1)
    kept = tf.ones([size_of(sequence, 0), time], tf.bool) if mask is None else mask
    number = tf.range(time, 0, -1) if reverse else tf.range(1, time + 1)
    place = tf.argmax(tf.pad(tf.where(kept, number, 0), [[0, 0], [1, 0]]), axis=1)  # 0 in a fully masked row
    return tf.gather(tf.pad(sequence, [[0, 0], [1, 0], [0, 0]]), place, batch_dims=1)


class Returning(Composed):
    """A layer with Keras's return options: the last output or all outputs, and optionally the states.

    Subclasses define `output_size`, `state_size` and `steps`, and end their `call` with `returned`.

    Args:
        return_sequences: Whether to return the output at every step instead of the last one alone.
        return_state: Whether to return the states after the last step in addition to the output.
    """

    def __init__(self, return_sequences: bool = False, return_state: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.return_sequences, self.return_state = return_sequences, return_state

    @property
    def output_size(self) -> int:
        """The width of the outputs."""
        raise NotImplementedError

    @property
    def state_size(self) -> list[int]:
        """The width of each state."""
        raise NotImplementedError

    def steps(self, inputs_shape: Any, **others: Any) -> int | None:
        """Return the number of outputs per row, or None if unknown."""
        return inputs_shape[1]

    def steps_kept(self, mask: Any) -> Any:
        """Return the mask of the outputs, given the mask of the inputs."""
        return mask

    def returned(self, outputs: tf.Tensor, last: tf.Tensor, states: Any) -> Any:
        """Select what the call returns, according to the return options."""
        output = outputs if self.return_sequences else last
        return (output, *tf.nest.flatten(states)) if self.return_state else output

    def compute_output_shape(self, inputs_shape: Any, **others: Any) -> Any:
        steps = (self.steps(inputs_shape, **others),) if self.return_sequences else ()
        output = (inputs_shape[0], *steps, self.output_size)
        return (output, *((inputs_shape[0], size) for size in self.state_size)) if self.return_state else output

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Propagate the mask to a sequence of outputs, but not to a last output or to states."""
        going = self.return_sequences and previous_mask is not None
        mask = self.steps_kept(previous_mask) if going else None
        return [mask, *[None] * len(self.state_size)] if self.return_state else mask

    def get_config(self) -> dict[str, Any]:
        flags = {"return_sequences": self.return_sequences, "return_state": self.return_state}
        return {**super().get_config(), **flags}


class Network(Returning):
    """A network over time. Subclasses define `_read`, which computes everything, regardless of what is returned.

    A network that is part of another one is read, so its own return options have no effect.
    """

    context: str | None  # how a fixed vector given in the call is used

    def read(
        self,
        inputs: tf.Tensor,
        initial_state: Any = None,
        mask: tf.Tensor | None = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> RecurrentOutput:
        """Return outputs, last output and states. The arguments are those of `call`."""
        inputs = tf.cast(inputs, self.compute_dtype)
        context = None if context is None else tf.cast(context, self.compute_dtype)
        if inputs.shape.rank != 3:
            raise ValueError(f"inputs: expected [batch, time, features]. Received shape: {inputs.shape}")
        if not self.built:
            self.build(inputs.shape, None if context is None else context.shape)
        if mask is not None:
            mask = check_mask(mask, inputs)
            inputs = zero_masked(inputs, mask)  # so that no values in the padding, not even NaN, reach a gradient
        return self._read(inputs, initial_state, mask, context, training)

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> RecurrentOutput:
        """Return outputs, last output and states of the built network, for inputs that are zero where masked."""
        raise NotImplementedError

    def final_output(self, states: list) -> tf.Tensor:
        """Return the output after the last step, given the states; for a `Stack`, that of its last layer alone."""
        raise NotImplementedError

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """Return the values of a sequence at the steps of the last output: `[batch, output_size]`.

        The sequence is as wide as the outputs.
        """
        raise NotImplementedError

    def call(
        self,
        inputs: tf.Tensor,
        initial_state: Any = None,
        mask: tf.Tensor | None = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> Any:
        """Read the inputs and return what the return options select."""
        return self.returned(*self.read(inputs, initial_state, mask_of(inputs, mask), context, training))


def check_networks(name: str, networks: Sequence[Any]) -> list[Network]:
    """Return a list of networks, checked to be usable as parts of another one."""
    networks = list(networks)
    if not networks or not all(isinstance(network, Network) for network in networks):
        raise ValueError(f"{name}: expected Recurrent, Bidirectional or Stack networks. Received: {networks!r}")
    if any(network.activity_regularizer is not None for network in networks):
        raise ValueError(
            f"{name}: expected networks without activity_regularizer. Received: one with it; pass it to the outer layer"
        )
    return networks


def check_states(states: Any, sizes: list[int], inputs: tf.Tensor) -> list[tf.Tensor]:
    """Return a flat list of states, checked to have these sizes and the batch size of the inputs."""
    states = [tf.cast(state, inputs.dtype) for state in tf.nest.flatten(states)]
    found, expected = [tuple(state.shape) for state in states], [(inputs.shape[0], size) for size in sizes]
    pairs = zip(states, expected, strict=False)
    if len(found) != len(expected) or not all(state.shape.is_compatible_with(shape) for state, shape in pairs):
        raise ValueError(f"initial_state: expected {expected}. Received: {found}")
    return states
