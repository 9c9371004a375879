"""Checks of a target: its implementations with and without TensorFlow must return the same."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.checks.base import Checks, expect
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.targets import Target
from seqattn_tf.lite.targets.base import load_target, save_target
from seqattn_tf.outputs import graph_target


class TargetChecks(Checks):
    """Checks that the plain and the graph implementation of a target agree.

    Args:
        part: A target.
        examples: Correct answers in the form of the data.
        found: Hypothetical model outputs, by name: `scores [batch, answers]` and one array for each of `names`.
    """

    def __init__(self, part: Target, examples: Sequence[Any], found: dict[str, Any] | None = None) -> None:
        super().__init__(part)
        self.examples, self.given = list(examples), found
        self.graph = graph_target(part)

    @property
    def found(self) -> dict[str, np.ndarray]:
        """The outputs of a perfect model: one answer per example, and one row without any answer."""
        if self.given is not None:
            return {name: np.asarray(values) for name, values in self.given.items()}
        arrays = [self.part.arrays(value) for value in self.examples]
        found = {"scores": np.array([[-1.0 - row] for row in range(len(arrays))] + [[-np.inf]], np.float32)}
        for name in self.part.names:
            each = [array[name] for array in arrays]
            longest = max((one.shape[0] for one in each if one.ndim), default=0)
            rows = [
                np.pad(one, [[0, longest - len(one)]] + [[0, 0]] * (one.ndim - 1)) if one.ndim else one for one in each
            ]
            found[name] = np.stack([*rows, np.zeros_like(rows[0])])[:, None]
        return found

    def check_configuration(self) -> None:
        """Check that a target restored from JSON has the same configuration."""
        again = load_target(json.loads(json.dumps(save_target(self.part))))
        expect(type(again) is type(self.part), f"from JSON: expected the same class. Received: {type(again).__name__}")
        expect(
            again.get_config() == self.part.get_config(),
            "get_config: expected the same configuration after from_config. Received: a different one",
        )

    def check_both_halves(self) -> None:
        """Check that both implementations return the same text, score, alternatives and tokens."""
        found = self.found
        said = tf.function(self.graph.format, autograph=False)({name: tf.constant(one) for name, one in found.items()})
        outputs = {name: value.numpy() for name, value in said.items()}
        for row in range(len(found["scores"])):
            answer = Answer.from_outputs(outputs, row)
            plain = self.part.format_row({name: values[row] for name, values in found.items()})
            for name, expected in plain.items():
                received = getattr(answer, name)
                expect(
                    received == expected, f"{name} in the graph: expected {expected!r:.60}. Received: {received!r:.60}"
                )

    def check_no_answer(self) -> None:
        """Check that a score of minus infinity means no answer: an empty text and no tokens."""
        found = self.found
        impossible = {**found, "scores": np.full_like(found["scores"], -np.inf)}
        plain = self.part.format_row({name: values[0] for name, values in impossible.items()})
        expect(
            plain["text"] == "" and not plain["tokens"],
            f"text without an answer: expected ''. Received: {plain['text']!r}",
        )

    def check_batches(self) -> None:
        """Check that a batch without rows can be formatted."""
        said = self.graph.format({name: tf.constant(values[:0]) for name, values in self.found.items()})
        for name, value in said.items():
            expect(value.shape[0] == 0, f"{name} of an empty batch: expected no rows. Received: {value.shape}")

    def check_learning(self) -> None:
        """Check that correct answers are converted to batches in the order of the rows."""
        column = self.graph.column(self.examples)
        expect(
            len(column.lengths) == len(self.examples),
            f"column: expected {len(self.examples)} entries, one per example. Received: {len(column.lengths)}",
        )
        order = list(range(len(self.examples)))[::-1]
        forwards, backwards = (
            self.graph.y_true(column.rows(tf.constant(rows))).numpy() for rows in (order[::-1], order)
        )
        expect((forwards[::-1] == backwards).all(), "y_true: expected the requested rows. Received: other rows")
        for example in self.examples:
            self.part.normalize(example)
