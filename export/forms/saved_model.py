"""SavedModel: the graph with its signatures, judged by TensorFlow's C++ loader in a process without Keras."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.export import cpp_loader, meta_graph, ops
from seqattn_tf.export.forms.base import FORWARD, Answers, Form, Row
from seqattn_tf.export.signatures import TENSORS, concrete
from seqattn_tf.export.verify import batches_by_size
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.model_inputs import columns
from seqattn_tf.models import Model
from seqattn_tf.models.base import DEFAULT

Tensors = Mapping[str, np.ndarray]


class SavedModel(Form):
    """What TensorFlow Serving runs. TensorFlow rewrites a graph before it runs: numbers differ in their last places."""

    name_in_registry = "saved_model"
    title = "SavedModel"

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """The graph, its ops checked; says what it takes and gives."""
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
        """By the default signature."""

        def answers(rows: Sequence[Row]) -> list[Answer]:
            asked = {name: tf.constant(values).numpy() for name, values in columns(rows, list(rows[0])).items()}
            [found] = ask_signatures(folder, {DEFAULT: asked})
            return [Answer.from_outputs(found[DEFAULT], row) for row in range(len(rows))]

        return answers

    def compare(self, model: Model, folder: Path, rows: Sequence[Row]) -> tuple[np.ndarray, str]:
        """Every output of every signature, not only what an answer is made of."""
        batches = batches_by_size(rows)
        questions = [questions_about(model, [rows[i] for i in batch]) for batch in batches]
        agreeing, fault = np.ones(len(rows), bool), ""
        for batch, asked, told in zip(batches, questions, ask_signatures(folder, *questions), strict=True):
            for name, function in concrete(model).items():
                for alias, expected in _run(function, asked[name]).items():
                    same = _same_rows(expected, told[name][alias], self.tolerance)
                    if not same.all() and not fault:
                        fault = f"{name} gives another {alias} for {rows[batch[int(np.argmin(same))]]!r:.80}"
                    agreeing[batch] &= same
        return agreeing, fault


def _plain(model: Model, functions: dict[str, Any]) -> tf.Module:
    """What the signatures read, without the Keras objects around it: the weights, and the tables of the tokenisers.

    TensorFlow saves the variables that it reaches through Keras 3's objects as copies. Its C++ loader restores the
    copies, and the signatures look for the originals in vain.
    """
    module = tf.Module()
    read = [variable for function in functions.values() for variable in function.variables]
    module.weights = list({id(variable): variable for variable in read}.values())  # each once
    module.parts = [*model.in_graph.values(), model.says]
    return module


def _spec(spec: tf.TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}


def questions_about(model: Model, rows: Sequence[Row]) -> dict[str, Tensors]:
    """Inputs of every signature that ask about the same rows; what wants an answer is asked for the model's own."""
    raw = {name: tf.constant(values) for name, values in columns(rows, list(model.inputs)).items()}

    def wired(**raw: tf.Tensor) -> dict[str, tf.Tensor]:
        sent = {name: field.to_wire(raw[name]) for name, field in model.in_graph.items()}
        return {f"{name}_{part}": tensor for name, parts in sent.items() for part, tensor in parts.items()}

    sent = model.traced("to wire", wired, model.strings)(**raw)  # run op by op, a sound takes seconds
    said = tf.constant([answer.text for answer in model.answer(rows)])
    asked = {DEFAULT: raw, TENSORS: sent}
    asked |= {name: {**raw, **dict.fromkeys(texts, said)} for name, texts in model.signatures.items()}
    return {name: {alias: value.numpy() for alias, value in inputs.items()} for name, inputs in asked.items()}


def ask_signatures(
    folder: Path, *questions: Mapping[str, Tensors], python: str = sys.executable
) -> list[dict[str, dict[str, np.ndarray]]]:
    """What a SavedModel answers under each signature, in TensorFlow's C++ loader and a process of its own.

    Args:
        folder: holds `saved_model.pb`.
        questions: inputs by signature, one batch of rows after the other.
        python: the interpreter of that process; see `cpp_loader.ask`.

    Raises:
        ValueError: it does not load, or a signature fails; with TensorFlow's words.
    """
    declared = meta_graph.read(folder).signature_def
    asks = []
    for name, inputs in (question for batch in questions for question in batch.items()):
        feeds = [(declared[name].inputs[alias].name, value) for alias, value in inputs.items()]
        asks.append(cpp_loader.Ask(feeds, [info.name for info in declared[name].outputs.values()]))
    answers = iter(cpp_loader.ask(folder, asks, python=python))
    return [{name: _outputs(name, declared[name], next(answers)) for name in batch} for batch in questions]


def _outputs(name: str, declared: Any, told: cpp_loader.Told) -> dict[str, np.ndarray]:
    if told.code:
        raise ValueError(f"SavedModel: expected an answer of signature {name}. Received: {told.message}")
    return dict(zip(declared.outputs, told.arrays, strict=True))


def _run(function: Any, inputs: Tensors) -> dict[str, np.ndarray]:
    tensors = {alias: tf.constant(value) for alias, value in inputs.items()}
    return {alias: np.asarray(value) for alias, value in function(**tensors).items()}


def _same_rows(expected: np.ndarray, found: np.ndarray, tolerance: float) -> np.ndarray:
    """Whether each row is the same, decimals within the tolerance: `[rows]`."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return np.zeros(len(expected), bool)
    if expected.dtype.kind == "f":
        same = np.isclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        same = found == expected
    return same.reshape(len(expected), -1).all(axis=1)
