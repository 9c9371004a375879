"""Checks of a field: its implementations with and without TensorFlow must read and reject the same values."""

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
    """Checks that the plain and the graph implementation of a field agree.

    Args:
        part: A field.
        values: Inputs that it accepts, besides those of `sample_inputs` and `edge_cases`.
        refused: Inputs that it rejects.
    """

    def __init__(self, part: Field, values: Sequence[Any] = (), refused: Sequence[Any] = ()) -> None:
        super().__init__(part)
        self.values = [*values, *part.sample_inputs(20, seed=1), *part.edge_cases()]
        self.refused = list(refused)
        self.graph = graph_field(part, "it")
        self.read = tf.function(self.graph.read, STRINGS, autograph=False)

    def raw(self, values: Sequence[Any]) -> tf.Tensor:
        """Return values in the form that a server receives."""
        return tf.constant([self.part.raw(value) for value in values], tf.string, [len(values)])

    def check_configuration(self) -> None:
        """Check that a field restored from JSON has the same configuration and reads the same."""
        [again] = load_fields(json.loads(json.dumps(save_fields({"it": self.part})))).values()
        expect(type(again) is type(self.part), f"from JSON: expected the same class. Received: {type(again).__name__}")
        expect(
            again.get_config() == self.part.get_config(),
            "get_config: expected the same configuration after from_config. Received: a different one",
        )
        for name, array in self.part.arrays(self.values[0]).items():
            expect_close(again.arrays(self.values[0])[name], array, 0, f"{name} of the loaded field")

    def check_both_halves(self) -> None:
        """Check that both implementations return the same numbers, apart from padding, and the same positions."""
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
                    not found[array.shape[0] :].any(),
                    f"{name} {shown}: expected zeros as padding. Received: nonzero values",
                )
            for level, names in places.items():
                found_names = [name.decode() for name in names[row].numpy() if name]
                expected = list(self.part.positions(value, level))
                expect(found_names == expected, f"positions {shown}: expected {expected}. Received: {found_names}")

    def check_bad_values(self) -> None:
        """Check that both implementations reject the same values: with `ValueError` or `INVALID_ARGUMENT`."""
        for value in (*self.refused, *_JUNK):
            plain, graph = self._plain(value), self._in_graph(value)
            expect(
                plain == graph,
                f"{value!r:.40}: expected both implementations to agree. "
                f"Received: {plain} in Python, {graph} in the graph",
            )
            expect(value not in self.refused or plain == "refused", f"{value!r:.40}: expected an error. Received: none")

    def _plain(self, value: Any) -> str:
        try:
            self.part.arrays(value)
        except ValueError:
            return "refused"
        return "accepted"

    def _in_graph(self, value: Any) -> str:
        try:
            self.read(self.raw([value]))
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # messages may quote invalid bytes
            return "refused"
        return "accepted"

    def check_limit(self) -> None:
        """Check that sample inputs are within the limit, and reproducible for the same seed."""
        made = self.part.sample_inputs(20, seed=1)
        expect(
            list(made) == list(self.part.sample_inputs(20, seed=1)),
            "sample_inputs: expected the same values for the same seed. Received: different values",
        )
        expect(
            list(made) != list(self.part.sample_inputs(20, seed=2)),
            "sample_inputs: expected different values for different seeds. Received: the same values",
        )
        for value in (*made, *self.part.edge_cases()):
            try:
                self.part.arrays(value)
            except ValueError as error:
                raise Problem(
                    "sample_inputs, edge_cases: expected values that the field can read. "
                    f"Received: {value!r:.40}: {error}"
                ) from None

    def check_batches(self) -> None:
        """Check that a batch without rows works and that single rows give the same results as a whole batch."""
        empty = self.read(self.raw([])).tensors
        for name, tensor in empty.items():
            expect(tensor.shape[0] == 0, f"{name} of an empty batch: expected no rows. Received: {tensor.shape}")
        together = self.read(self.raw(self.values[:3])).tensors
        for row, value in enumerate(self.values[:3]):
            for name, tensor in self.read(self.raw([value])).tensors.items():
                inside = together[name][row].numpy()[tuple(slice(size) for size in tensor.shape[1:])]
                expect_close(inside, tensor[0], 1e-6, f"{name} of {value!r:.40} in a batch")

    def check_wire(self) -> None:
        """Check that tensors sent by a client equal the tensors that the network reads from strings."""
        raw = self.raw(self.values)
        sent = tf.function(self.graph.to_wire, STRINGS, autograph=False)(raw)
        expect(
            sent.keys() == self.graph.wire.keys(),
            f"to_wire: expected {sorted(self.graph.wire)}. Received: {sorted(sent)}",
        )
        expected = self.read(raw).tensors
        for name, tensor in self.graph.from_wire(sent).items():
            expect_close(np.asarray(tensor), expected[name], 1e-6, f"{name} after to_wire and from_wire")
