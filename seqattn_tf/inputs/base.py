"""The base class of fields inside a TensorFlow graph."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from seqattn_tf.core.columns import Column, LazyColumn
from seqattn_tf.core.registry import Registered, twin_of
from seqattn_tf.lite.fields.base import TOGETHER, Field

Tensors = dict[str, tf.Tensor]


class FieldTensors(NamedTuple):
    """The tensors of a batch of one input."""

    tensors: Tensors  # the inputs of a network, by part
    positions: Tensors  # strings `[batch, positions]` by level, padded with empty ones; no level for a grid


class GraphField(Registered, tf.Module):
    """The graph counterpart of a `Field`, with the same `name_in_registry`, for a batch of strings.

    A subclass defines `tensors` and `read`. If clients may send tensors in another form than the network reads (ids
    need lengths, since servers pad with arbitrary values), it also defines `wire`, `to_wire` and `from_wire`.

    Args:
        field: The field.
        name: The name of the input in error messages.

    Attributes:
        tensors: The specs of the tensors that a network reads, by part.
    """

    registry: ClassVar[dict[str, type]] = {}
    tensors: dict[str, tf.TensorSpec]

    def __init__(self, field: Field, name: str) -> None:
        super().__init__()
        self.field, self.input_name = field, name

    def read(self, raw: tf.Tensor) -> FieldTensors:
        """Convert strings `[batch]` to tensors and positions.

        Values that are too long or malformed raise an INVALID_ARGUMENT error.
        """
        raise NotImplementedError

    def encode(self, raw: tf.Tensor) -> Tensors:
        """Convert strings to tensors, without positions."""
        return self.read(raw).tensors

    def column(self, values: Sequence[Any]) -> Column:
        """Return the input of many examples, encoded batch by batch."""
        raw = [value if hasattr(value, "read") else self.field.raw(value) for value in values]
        return LazyColumn(raw, self.encode_unbounded)

    def encode_unbounded(self, raw: tf.Tensor) -> Tensors:
        """Convert the strings of training data, to which the limit on the size of a batch does not apply."""
        return self.encode(raw)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """The specs of the tensors that a client may send, by part."""
        return self.tensors

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """Return the tensors that a client would send for these strings."""
        return self.encode(raw)

    def from_wire(self, sent: Tensors) -> Tensors:
        """Convert the tensors that a client sent to those that a network reads, after checking the limits."""
        return sent


def graph_field(field: Field, name: str) -> GraphField:
    """Return the graph counterpart of a field, for the input with this name.

    Raises:
        ValueError: If there is no `GraphField` with the name of the field's class or of one of its base classes.
    """
    return twin_of(field, GraphField)(field, name)


def check_batch(name: str, values: str, most: float, unit: str, found: tf.Tensor) -> tf.Operation:
    """Check the total size of a batch, whose values are all small enough on their own."""
    message = f"{name}: expected {values} of at most {most:.0f} {unit} {TOGETHER}, received"
    return tf.debugging.Assert(found <= most, [message, found])


def padded_rows(rows: tf.RaggedTensor, inner: Sequence[int]) -> tf.Tensor:
    """Pad rows to the longest, `[batch, longest, *inner]`; without any rows, TensorFlow would lose `inner`."""
    padded = rows.to_tensor()
    return tf.reshape(padded, [*tf.unstack(tf.shape(padded)[:2]), *inner])
