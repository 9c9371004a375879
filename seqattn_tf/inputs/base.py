"""The contract of a field inside a TensorFlow graph."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import tensorflow as tf

from seqattn_tf.core.columns import Column, LazyColumn
from seqattn_tf.core.registry import Registered, twin_of
from seqattn_tf.lite.fields.base import TOGETHER, Field

Tensors = dict[str, tf.Tensor]


class Reading(NamedTuple):
    """A batch of one input."""

    tensors: Tensors  # what a network reads, by part
    places: Tensors  # strings `[batch, places]` by level, empty ones after the last; none of a grid


class GraphField(Registered, tf.Module):
    """What a `Field` does, to a batch of strings in a graph; it has the `name_in_registry` of the field.

    A subclass gives `tensors` and `read`; where a client may send tensors instead of strings in another form than the
    network reads (ids need their lengths, as servers pad with anything), also `wire`, `to_wire` and `from_wire`.

    Args:
        field: the twin.
        name: of the input, for messages.

    Attributes:
        tensors: specs of what a network reads, by part.
    """

    registry: ClassVar[dict[str, type]] = {}
    tensors: dict[str, tf.TensorSpec]

    def __init__(self, field: Field, name: str) -> None:
        super().__init__()
        self.field, self.input_name = field, name

    def read(self, raw: tf.Tensor) -> Reading:
        """Strings `[batch]` to tensors and places; what is too long or broken is refused: INVALID_ARGUMENT."""
        raise NotImplementedError

    def encode(self, raw: tf.Tensor) -> Tensors:
        """The tensors alone."""
        return self.read(raw).tensors

    def column(self, values: Sequence[Any]) -> Column:
        """The input of many examples, encoded batch by batch."""
        raw = [value if hasattr(value, "read") else self.field.raw(value) for value in values]
        return LazyColumn(raw, self.encode_unbounded)

    def encode_unbounded(self, raw: tf.Tensor) -> Tensors:
        """The tensors of one's own data, for training: without the limit of a batch where a field has one."""
        return self.encode(raw)

    @property
    def wire(self) -> dict[str, tf.TensorSpec]:
        """Specs of what a client may send, by part."""
        return self.tensors

    def to_wire(self, raw: tf.Tensor) -> Tensors:
        """What a client would send for these strings."""
        return self.encode(raw)

    def from_wire(self, sent: Tensors) -> Tensors:
        """What a network reads of what a client sent, its limits checked."""
        return sent


def graph_field(field: Field, name: str) -> GraphField:
    """Return the twin of a field, for the input of this name.

    Raises:
        ValueError: there is no `GraphField` with the name of the field's class, or of one that it derives from.
    """
    return twin_of(field, GraphField)(field, name)


def check_batch(name: str, values: str, most: float, unit: str, found: tf.Tensor) -> tf.Operation:
    """Refuse a batch that is too large as a whole, though every value in it may be read by itself."""
    message = f"{name}: expected {values} of at most {most:.0f} {unit} {TOGETHER}, received"
    return tf.debugging.Assert(found <= most, [message, found])


def padded_rows(rows: tf.RaggedTensor, inner: Sequence[int]) -> tf.Tensor:
    """Return rows padded to the longest, `[batch, longest, *inner]`; of no rows, TensorFlow would forget `inner`."""
    padded = rows.to_tensor()
    return tf.reshape(padded, [*tf.unstack(tf.shape(padded)[:2]), *inner])
