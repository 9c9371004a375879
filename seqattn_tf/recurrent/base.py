"""What a recurrent network returns, as Keras's own do."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from seqattn_tf.core.layer import Composed
from seqattn_tf.core.masking import check_mask, mask_of, zero_masked
from seqattn_tf.core.scan import size_of


class Reading(NamedTuple):
    """All that a network found, whatever it returns of it."""

    outputs: tf.Tensor  # [batch, time, units]
    last: tf.Tensor  # [batch, units], zeros in a row with nothing to keep
    states: list  # after the last step: [batch, units] each; of a `Stack`, a list for each layer


def at_end(sequence: tf.Tensor, mask: tf.Tensor | None, reverse: bool = False) -> tf.Tensor:
    """What stands at the last kept step, in reverse at the first; zeros without one: `[batch, n]`.

    >>> at_end(tf.constant([[[1.0], [2.0], [3.0]]]), tf.constant([[True, True, False]])).numpy().tolist()
    [[2.0]]
    """
    time = size_of(sequence, 1)
    kept = tf.ones([size_of(sequence, 0), time], tf.bool) if mask is None else mask
    number = tf.range(time, 0, -1) if reverse else tf.range(1, time + 1)
    place = tf.argmax(tf.pad(tf.where(kept, number, 0), [[0, 0], [1, 0]]), axis=1)  # 0 where nothing is kept
    return tf.gather(tf.pad(sequence, [[0, 0], [1, 0], [0, 0]]), place, batch_dims=1)


class Returning(Composed):
    """A network that returns what Keras's do: its last output, or all, and its states where they are asked for.

    A subclass gives `output_size`, `state_size` and `steps`, and ends its `call` with `returned`.

    Args:
        return_sequences: return the output at every step, not the last one alone.
        return_state: return the states after the last step too, one after the other.
    """

    def __init__(self, return_sequences: bool = False, return_state: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.return_sequences, self.return_state = return_sequences, return_state

    @property
    def output_size(self) -> int:
        """Width of the outputs."""
        raise NotImplementedError

    @property
    def state_size(self) -> list[int]:
        """Width of each state."""
        raise NotImplementedError

    def steps(self, inputs_shape: Any, **others: Any) -> int | None:
        """How many outputs a row has."""
        return inputs_shape[1]

    def steps_kept(self, mask: Any) -> Any:
        """Which of them are kept, by the mask of the inputs."""
        return mask

    def returned(self, outputs: tf.Tensor, last: tf.Tensor, states: Any) -> Any:
        """Of what was found, what was asked for."""
        output = outputs if self.return_sequences else last
        return (output, *tf.nest.flatten(states)) if self.return_state else output

    def compute_output_shape(self, inputs_shape: Any, **others: Any) -> Any:
        """The shape of what is returned, from those of the arguments."""
        steps = (self.steps(inputs_shape, **others),) if self.return_sequences else ()
        output = (inputs_shape[0], *steps, self.output_size)
        return (output, *((inputs_shape[0], size) for size in self.state_size)) if self.return_state else output

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask goes on with a sequence, not with a last output nor with a state."""
        going = self.return_sequences and previous_mask is not None
        mask = self.steps_kept(previous_mask) if going else None
        return [mask, *[None] * len(self.state_size)] if self.return_state else mask

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        flags = {"return_sequences": self.return_sequences, "return_state": self.return_state}
        return {**super().get_config(), **flags}


class Network(Returning):
    """A network over time; a subclass gives `_read`, which finds everything, whatever is returned of it.

    A network that is part of another one is read, and what it would return does not matter.
    """

    context: str | None  # what a fixed vector given in the call is used for

    def read(
        self,
        inputs: tf.Tensor,
        initial_state: Any = None,
        mask: tf.Tensor | None = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> Reading:
        """Outputs, last output and states; arguments as of `call`."""
        inputs = tf.cast(inputs, self.compute_dtype)
        context = None if context is None else tf.cast(context, self.compute_dtype)
        if inputs.shape.rank != 3:
            raise ValueError(f"inputs: expected [batch, time, features]. Received shape: {inputs.shape}")
        if not self.built:
            self.build(inputs.shape, None if context is None else context.shape)
        if mask is not None:
            mask = check_mask(mask, inputs)
            inputs = zero_masked(inputs, mask)  # whatever stands in the padding, it reaches no gradient
        return self._read(inputs, initial_state, mask, context, training)

    def _read(
        self,
        inputs: tf.Tensor,
        initial_state: Any,
        mask: tf.Tensor | None,
        context: tf.Tensor | None,
        training: bool,
    ) -> Reading:
        """The same of a network that is built, for inputs with zeros where nothing is kept."""
        raise NotImplementedError

    def final_output(self, states: list) -> tf.Tensor:
        """The output after the last step, from the states; of a `Stack`, of its last layer by itself."""
        raise NotImplementedError

    def ending(self, sequence: tf.Tensor, mask: tf.Tensor | None) -> tf.Tensor:
        """Of any sequence as wide as the outputs, what stands where their last is: `[batch, output_size]`."""
        raise NotImplementedError

    def call(
        self,
        inputs: tf.Tensor,
        initial_state: Any = None,
        mask: tf.Tensor | None = None,
        context: tf.Tensor | None = None,
        training: bool = False,
    ) -> Any:
        """Read, and return what was asked for."""
        return self.returned(*self.read(inputs, initial_state, mask_of(inputs, mask), context, training))


def check_networks(name: str, networks: Sequence[Any]) -> list[Network]:
    """Networks that become part of another one."""
    networks = list(networks)
    if not networks or not all(isinstance(network, Network) for network in networks):
        raise ValueError(f"{name}: expected Recurrent, Bidirectional or Stack networks. Received: {networks!r}")
    if any(network.activity_regularizer is not None for network in networks):
        raise ValueError(f"{name}: expected no activity_regularizer of a part; give it to the whole. Received: one")
    return networks


def check_states(states: Any, sizes: list[int], inputs: tf.Tensor) -> list[tf.Tensor]:
    """States of these sizes for the rows of the inputs, from a list, a list of lists or one alone."""
    states = [tf.cast(state, inputs.dtype) for state in tf.nest.flatten(states)]
    found, expected = [tuple(state.shape) for state in states], [(inputs.shape[0], size) for size in sizes]
    pairs = zip(states, expected, strict=False)
    if len(found) != len(expected) or not all(state.shape.is_compatible_with(shape) for state, shape in pairs):
        raise ValueError(f"initial_state: expected {expected}. Received: {found}")
    return states
