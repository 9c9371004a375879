"""Checks of a field: its half without TensorFlow and its half in the graph must read and refuse the same."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.checks.base import Checks, Problem, expect, expect_close
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.fields.base import load_fields, save_fields

_JUNK = (b"", b"\x00", b"\xff\xfe\xfd", b"GIF89a", b"RIFF", "\u2028\U0001f600".encode(), b"x" * 100_000)

STRINGS = [tf.TensorSpec([None], tf.string)]


class FieldChecks(Checks):
    """Checks that both halves of a field agree.

    Args:
        part: a field.
        values: inputs that it accepts, besides those of `made_up` and `odd`.
        refused: inputs that it refuses.
    """

    def __init__(self, part: Field, values: Sequence[Any] = (), refused: Sequence[Any] = ()) -> None:
        super().__init__(part)
        self.values = [*values, *part.made_up(20, seed=1), *part.odd()]
        self.refused = list(refused)
        self.graph = graph_field(part, "it")
        self.read = tf.function(self.graph.read, STRINGS, autograph=False)

    def raw(self, values: Sequence[Any]) -> tf.Tensor:
        """Return values as a server gets them."""
        return tf.constant([self.part.raw(value) for value in values], tf.string, [len(values)])

    def check_configuration(self) -> None:
        """It comes back from JSON with the same configuration, and reads the same."""
        [again] = load_fields(json.loads(json.dumps(save_fields({"it": self.part})))).values()
        expect(type(again) is type(self.part), f"from JSON: expected the same class. Received: {type(again).__name__}")
        expect(again.get_config() == self.part.get_config(), "get_config: expected the same after from_config")
        for name, array in self.part.arrays(self.values[0]).items():
            expect_close(again.arrays(self.values[0])[name], array, 0, f"{name} of the loaded field")

    def check_both_halves(self) -> None:
        """Every value gives the same numbers, padding apart, and the same positions in both halves."""
        tensors, places = self.read(self.raw(self.values))
        expect(
            tensors.keys() == self.graph.tensors.keys(),
            f"tensors: expected {sorted(self.graph.tensors)}. Received: {sorted(tensors)}",
        )
        for name, spec in self.graph.tensors.items():
            expect(spec.is_compatible_with(tensors[name]), f"{name}: expected {spec}. Received: {tensors[name].shape}")
        for row, value in enumerate(self.values):
            shown = f"of {value!r:.40}"
            for name, array in self.part.arrays(value).items():
                found = tensors[name][row].numpy()
                expect(
                    found.dtype == array.dtype, f"{name}: expected {array.dtype} in the graph. Received: {found.dtype}"
                )
                inside = found[tuple(slice(size) for size in array.shape)]
                expect_close(inside, array, 1e-3, f"{name} {shown} in the graph")
                expect(
                    not found[array.shape[0] :].any(), f"{name} {shown}: expected zeros as padding. Received: others"
                )
            for level, names in places.items():
                found_names = [name.decode() for name in names[row].numpy() if name]
                expected = list(self.part.places(value, level))
                expect(found_names == expected, f"places {shown}: expected {expected}. Received: {found_names}")

    def check_bad_values(self) -> None:
        """What one half refuses, the other refuses too: with ValueError, and INVALID_ARGUMENT in the graph."""
        for value in (*self.refused, *_JUNK):
            plain, graph = self._plain(value), self._in_graph(value)
            expect(
                plain == graph, f"{value!r:.40}: expected both halves to agree. Received: {plain}, in the graph {graph}"
            )
            expect(
                value not in self.refused or plain == "refused", f"{value!r:.40}: expected a refusal. Received: none"
            )

    def _plain(self, value: Any) -> str:
        try:
            self.part.arrays(value)
        except ValueError:
            return "refused"
        return "accepted"

    def _in_graph(self, value: Any) -> str:
        try:
            self.read(self.raw([value]))
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # a message may quote bytes that are no text
            return "refused"
        return "accepted"

    def check_limit(self) -> None:
        """Made-up values are within the limit, and the same for the same seed."""
        made = self.part.made_up(20, seed=1)
        expect(list(made) == list(self.part.made_up(20, seed=1)), "made_up: expected the same values for the same seed")
        expect(list(made) != list(self.part.made_up(20, seed=2)), "made_up: expected other values for another seed")
        for value in (*made, *self.part.odd()):
            try:
                self.part.arrays(value)
            except ValueError as error:
                raise Problem(
                    f"made_up, odd: expected values that it reads. Received: {value!r:.40}: {error}"
                ) from None

    def check_batches(self) -> None:
        """A batch of no rows, and rows one by one, give what a whole batch gives."""
        empty = self.read(self.raw([])).tensors
        for name, tensor in empty.items():
            expect(tensor.shape[0] == 0, f"{name} of no rows: expected none. Received: {tensor.shape}")
        together = self.read(self.raw(self.values[:3])).tensors
        for row, value in enumerate(self.values[:3]):
            for name, tensor in self.read(self.raw([value])).tensors.items():
                inside = together[name][row].numpy()[tuple(slice(size) for size in tensor.shape[1:])]
                expect_close(inside, tensor[0], 1e-6, f"{name} of {value!r:.40} in a batch")

    def check_wire(self) -> None:
        """What a client sends as tensors is what the network reads of the strings."""
        raw = self.raw(self.values)
        sent = tf.function(self.graph.to_wire, STRINGS, autograph=False)(raw)
        expect(
            sent.keys() == self.graph.wire.keys(),
            f"to_wire: expected {sorted(self.graph.wire)}. Received: {sorted(sent)}",
        )
        expected = self.read(raw).tensors
        for name, tensor in self.graph.from_wire(sent).items():
            expect_close(np.asarray(tensor), expected[name], 1e-6, f"{name} by wire")
