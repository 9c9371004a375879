"""SavedModel: the graph with its signatures, verified by TensorFlow's C++ loader in a process without Keras."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.export import cpp_loader, meta_graph, ops
from seqattn_tf.export.comparison import batches_by_size
from seqattn_tf.export.forms.base import FORWARD, Answers, Form, Row
from seqattn_tf.export.signatures import TENSORS, concrete
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.models import Model
from seqattn_tf.models.base import DEFAULT

Tensors = Mapping[str, np.ndarray]


class SavedModel(Form):
    """The form that TensorFlow Serving runs.

    TensorFlow optimizes a graph before running it, so numbers differ slightly.
    """

    name_in_registry = "saved_model"
    title = "SavedModel"

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """Write the graph, check its ops, and return its signatures and ops."""
        made = concrete(model)
        tf.saved_model.save(_plain(model, made), str(folder), signatures=made, options=FORWARD)
        used = ops.check(folder)
        shapes = {
            name: {
                "inputs": {key: _spec(spec) for key, spec in function.structured_input_signature[1].items()},
                "outputs": {key: _spec(value) for key, value in function.structured_outputs.items()},
            }
            for name, function in made.items()
        }
        return {"signatures": shapes, "ops": sorted(used)}

    def open(self, folder: Path) -> Answers:
        """Return a function that answers rows by the default signature."""

        def answers(rows: Sequence[Row]) -> list[Answer]:
            asked = {name: tf.constant(values).numpy() for name, values in columns(rows, list(rows[0])).items()}
            [found] = ask_signatures(folder, {DEFAULT: asked})
            return [Answer.from_outputs(found[DEFAULT], row) for row in range(len(rows))]

        return answers

    def compare(self, model: Model, folder: Path, rows: Sequence[Row]) -> tuple[np.ndarray, str]:
        """Compare every output of every signature, not only those that are part of an answer."""
        batches = batches_by_size(rows)
        questions = [questions_about(model, [rows[i] for i in batch]) for batch in batches]
        agreeing, fault = np.ones(len(rows), bool), ""
        for batch, asked, results in zip(batches, questions, ask_signatures(folder, *questions), strict=True):
            for name, function in concrete(model).items():
                for alias, expected in _run(function, asked[name]).items():
                    same = _same_rows(expected, results[name][alias], self.tolerance)
                    if not same.all() and not fault:
                        fault = f"{name} returns a different {alias} for {rows[batch[int(np.argmin(same))]]!r:.80}"
                    agreeing[batch] &= same
        return agreeing, fault


def _plain(model: Model, functions: dict[str, Any]) -> tf.Module:
    """Return a module with everything the signatures read, the weights and the lookup tables, without Keras objects.

    TensorFlow saves variables that it reaches through Keras 3 objects as copies. Its C++ loader restores the copies,
    while the signatures read the originals, which are then missing.
    """
    module = tf.Module()
    read = [variable for function in functions.values() for variable in function.variables]
    module.weights = list({id(variable): variable for variable in read}.values())  # without duplicates
    module.parts = [*model.graph_inputs.values(), model.graph_target]
    return module


def _spec(spec: tf.TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}


def questions_about(model: Model, rows: Sequence[Row]) -> dict[str, Tensors]:
    """Return inputs for every signature from the same rows; signatures that need an answer get that of the model."""
    raw = {name: tf.constant(values) for name, values in columns(rows, list(model.inputs)).items()}

    def wired(**raw: tf.Tensor) -> dict[str, tf.Tensor]:
        sent = {name: field.to_wire(raw[name]) for name, field in model.graph_inputs.items()}
        return {f"{name}_{part}": tensor for name, parts in sent.items() for part, tensor in parts.items()}

    sent = model.traced("to wire", wired, model.strings)(**raw)  # traced, because a sound takes seconds in eager mode
    answers = tf.constant([answer.text for answer in model.answer(rows)])
    asked = {DEFAULT: raw, TENSORS: sent}
    asked |= {name: {**raw, **dict.fromkeys(texts, answers)} for name, texts in model.signatures.items()}
    return {name: {alias: value.numpy() for alias, value in inputs.items()} for name, inputs in asked.items()}


def ask_signatures(
    folder: Path, *questions: Mapping[str, Tensors], python: str = sys.executable
) -> list[dict[str, dict[str, np.ndarray]]]:
    """Run the signatures of a SavedModel in TensorFlow's C++ loader, in a separate process.

    Args:
        folder: The folder that contains `saved_model.pb`.
        questions: The inputs by signature, for each batch of rows.
        python: The interpreter of that process; see `cpp_loader.ask`.

    Raises:
        ValueError: If the model cannot be loaded or a signature fails; with TensorFlow's message.
    """
    declared = meta_graph.read(folder).signature_def
    asks = []
    for name, inputs in (question for batch in questions for question in batch.items()):
        feeds = [(declared[name].inputs[alias].name, value) for alias, value in inputs.items()]
        asks.append(cpp_loader.RunRequest(feeds, [info.name for info in declared[name].outputs.values()]))
    answers = iter(cpp_loader.ask(folder, asks, python=python))
    return [{name: _outputs(name, declared[name], next(answers)) for name in batch} for batch in questions]


def _outputs(name: str, declared: Any, result: cpp_loader.RunResult) -> dict[str, np.ndarray]:
    if result.code:
        raise ValueError(f"SavedModel: expected an answer from signature {name}. Received: {result.message}")
    return dict(zip(declared.outputs, result.arrays, strict=True))


def _run(function: Any, inputs: Tensors) -> dict[str, np.ndarray]:
    tensors = {alias: tf.constant(value) for alias, value in inputs.items()}
    return {alias: np.asarray(value) for alias, value in function(**tensors).items()}


def _same_rows(expected: np.ndarray, found: np.ndarray, tolerance: float) -> np.ndarray:
    """Return whether each row is equal, floating-point numbers within the tolerance: `[rows]`."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return np.zeros(len(expected), bool)
    if expected.dtype.kind == "f":
        same = np.isclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        same = found == expected
    return same.reshape(len(expected), -1).all(axis=1)
