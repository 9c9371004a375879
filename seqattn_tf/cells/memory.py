"""The Neural Turing Machine: a cell with a memory that it reads and writes by attention."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from seqattn_tf.attention.base import at_least_single
from seqattn_tf.attention.scores.cosine import unit_length
from seqattn_tf.cells.base import Cell, cell_of
from seqattn_tf.core.layer import Composed
from seqattn_tf.core.linear import linear
from seqattn_tf.core.registry import check_count


def _softmax(logits: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.nn.softmax(tf.cast(logits, at_least_single(logits.dtype))), logits.dtype)


class _Head(NamedTuple):
    """The parameters of a head, computed by the controller."""

    key: tf.Tensor  # [batch, width], the content to find
    strength: tf.Tensor  # [batch, 1], the sharpness of addressing by content
    gate: tf.Tensor  # [batch, 1], from the previous weights (0) to addressing by content (1)
    shift: tf.Tensor  # [batch, 3], one slot back, none, one forward
    sharpness: tf.Tensor  # [batch, 1], at least one


@keras.saving.register_keras_serializable("seqattn_tf")
class MemoryCell(Composed, Cell):
    """A Neural Turing Machine: a controller, a memory `M` of `slots` rows, a write and a read head (Graves, 2014).

        h' = controller([x; r], h)              one linear map of h' gives all parameters below
        w_c = softmax(strength * cos(key, M))                addressing by content
        w_g = gate * w_c + (1 - gate) * w                    or by the previous weights
        w_s[i] = sum_k shift[k] w_g[i - k]                   shifted by up to one slot, circularly
        w' = w_s^sharpness / sum w_s^sharpness
        M' = M * (1 - w_write' erase) + w_write' add         first the write head,
        r' = w_read' M'                                      then the read head, which reads the new memory

    The states are the output `[h'; r']`, the other states of the controller, the flattened `M`, and the logits of the
    weights of each head. The last three are stored relative to their initial values: a trainable initial memory and the
    first slot for both heads. The initial memory starts as small random numbers, because equal rows could not be told
    apart by content. Thus zeros start a sequence, as in any cell, and any numbers are a valid state, so that a network
    may compute the initial state.

    Args:
        units: The size of the controller's state, if the controller is given by name.
        slots: The number of rows of the memory.
        width: The number of values in a row.
        controller: A `Cell` or its name.
        strength: The approximate sharpness of addressing by content before training. With larger values, the heads
            focus on one slot of many.

    >>> cell = MemoryCell(4, slots=5, width=3)
    >>> output, states = cell(tf.ones([1, 2]), cell.get_initial_state(1))
    >>> output.shape.as_list(), cell.state_size  # [h; r], c, M, and the logits of the heads
    ([1, 7], [7, 4, 15, 5, 5])
    """

    name_in_registry = "memory"
    parts = ("controller",)

    def __init__(
        self,
        units: int | None = None,
        slots: int = 32,
        width: int = 16,
        controller: str | Cell = "lstm",
        strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.strength = strength
        self.slots, self.width = check_count("slots", slots), check_count("width", width)
        self.controller = cell_of(controller, units, self.dtype_policy)

    @property
    def state_size(self) -> list[int]:
        """The sizes of the output, the other states of the controller, the memory and the logits of both heads."""
        first, *others = self.controller.state_size
        return [first + self.width, *others, self.slots * self.width, self.slots, self.slots]

    @property
    def projected_size(self) -> int:
        return self.controller.projected_size

    def build(self, input_shape: Any) -> None:
        """Create the controller, the maps of the read vector and of the head parameters, and the initial memory."""
        if not self.controller.built:
            self.controller.build(input_shape)
        head = self.width + 6
        self.read_kernel = self.add_weight(name="read_kernel", shape=(self.width, self.projected_size))
        said = 2 * head + 2 * self.width
        self.head_kernel = self.add_weight(name="head_kernel", shape=(self.controller.output_size, said))
        self.head_bias = self.add_weight(name="head_bias", shape=(said,), initializer=self._first_bias)
        small = keras.initializers.RandomNormal(stddev=0.1)
        self.first_memory = self.add_weight(name="first_memory", shape=(self.slots * self.width,), initializer=small)
        self.built = True

    def _first_bias(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """Return a bias of zero except for the strengths of both heads."""
        head = self.width + 6
        strengths = tf.one_hot(self.width, shape[0], dtype=dtype) + tf.one_hot(head + self.width, shape[0], dtype=dtype)
        return self.strength * strengths

    def project(self, inputs: tf.Tensor, training: bool = False) -> Any:
        return self.controller.project(inputs, training=training)

    def join(self, projected: Any, extra: tf.Tensor) -> Any:
        return self.controller.join(projected, extra)

    def _heads(self, said: tf.Tensor) -> tuple[_Head, _Head, tf.Tensor, tf.Tensor]:
        """Return the parameters of the read head and the write head, the erase vector and the add vector."""
        sizes = [self.width, 1, 1, 3, 1]
        *parts, erase, add = tf.split(said, [*sizes, *sizes, self.width, self.width], axis=-1)

        def head(key: tf.Tensor, strength: tf.Tensor, gate: tf.Tensor, shift: tf.Tensor, sharp: tf.Tensor) -> _Head:
            softplus = tf.nn.softplus
            return _Head(key, softplus(strength), tf.sigmoid(gate), _softmax(shift), 1 + softplus(sharp))

        return head(*parts[:5]), head(*parts[5:]), tf.sigmoid(erase), tf.tanh(add)

    @staticmethod
    def _moved(head: _Head, last: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        """Return the new logits of a head, `[batch, slots]`, from its previous ones."""
        found = tf.squeeze(tf.matmul(unit_length(memory), unit_length(head.key)[:, :, None]), -1)
        found = _softmax(head.strength * found)
        here = head.gate * found + (1 - head.gate) * _softmax(last)
        back, on = tf.concat([here[:, 1:], here[:, :1]], 1), tf.concat([here[:, -1:], here[:, :-1]], 1)
        moved = head.shift[:, :1] * back + head.shift[:, 1:2] * here + head.shift[:, 2:] * on
        return head.sharpness * tf.math.log(tf.maximum(moved, 1e-7))

    def _origins(self, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the initial values of the memory and of the logits of a head: `[slots x width]` and `[slots]`."""
        return tf.cast(self.first_memory, dtype), tf.one_hot(0, self.slots, 0.0, -10.0, dtype=dtype)

    def _advance(self, projected: Any, states: list[tf.Tensor]) -> tuple[list[tf.Tensor], _Head, _Head]:
        output, *others, memory, read_at, write_at = states
        first_memory, first_slot = self._origins(memory.dtype)
        hidden, read = tf.split(output, [self.controller.output_size, self.width], axis=-1)
        projected = self.controller.join(projected, linear(read, self.read_kernel))
        hidden, *others = self.controller.step(projected, [hidden, *others])
        reader, writer, erase, add = self._heads(linear(hidden, self.head_kernel, self.head_bias))
        rows = tf.reshape(memory + first_memory, [-1, self.slots, self.width])
        write_at = self._moved(writer, write_at + first_slot, rows)
        written = _softmax(write_at)[:, :, None]
        rows = rows * (1 - written * erase[:, None]) + written * add[:, None]
        read_at = self._moved(reader, read_at + first_slot, rows)
        read = tf.squeeze(tf.matmul(_softmax(read_at)[:, None], rows), 1)
        memory = tf.reshape(rows, [-1, self.slots * self.width]) - first_memory
        states = [tf.concat([hidden, read], axis=-1), *others, memory, read_at - first_slot, write_at - first_slot]
        return states, reader, writer

    def step(self, projected: Any, states: list[tf.Tensor]) -> list[tf.Tensor]:
        """Take one step: `[batch, projected], [output, ..., memory, read head, write head] -> states`."""
        return self._advance(projected, states)[0]

    def gates(self, inputs: tf.Tensor, states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the weights of both heads `[batch, slots]` and their content gates `[batch, 1]`."""
        after, reader, writer = self._advance(self.project(inputs), states)
        read, write = (_softmax(logits + self._origins(logits.dtype)[1]) for logits in after[-2:])
        return {"read": read, "write": write, "read_content": reader.gate, "write_content": writer.gate}

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "slots": self.slots, "width": self.width, "strength": self.strength}
